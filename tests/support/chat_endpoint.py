"""A chat endpoint on loopback that accepts one key, and streams the same answer to everybody."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

RIGHT_KEY = "sk-right"
STREAMED = (
    {"choices": [{"index": 0, "delta": {"content": "It is `hello.py:1-2`"}}]},
    {"choices": [{"index": 0, "delta": {"content": " that says so."}, "finish_reason": "stop"}]},
    {"choices": [], "usage": {"prompt_tokens": 120, "completion_tokens": 9, "total_tokens": 129}},
)


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if asked.get("stream"):
            self._stream()
            return
        accepted = self.headers["Authorization"] == f"Bearer {RIGHT_KEY}"
        body = {"choices": []} if accepted else {"error": {"message": "invalid key"}}
        content = json.dumps(body).encode()
        self.send_response(200 if accepted else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _stream(self) -> None:
        content = "".join(f"data: {json.dumps(piece)}\n\n" for piece in STREAMED)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(f"{content}data: [DONE]\n\n".encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


@contextmanager
def chat_endpoint() -> Iterator[str]:
    """The url of a running endpoint."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/chat/completions"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
