"""A chat endpoint on loopback that accepts one key, and streams the same answer to everybody.

An agent, which is known by its tools, wants to delete a file first.
"""

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

from support.loopback_server import LoopbackServer

RIGHT_KEY = "sk-right"
STREAMED = (
    {"choices": [{"index": 0, "delta": {"content": "It is `hello.py:1-2`"}}]},
    {"choices": [{"index": 0, "delta": {"content": " that says so."}, "finish_reason": "stop"}]},
    {"choices": [], "usage": {"prompt_tokens": 120, "completion_tokens": 9, "total_tokens": 129}},
)


def _call(index: int, name: str, arguments: str) -> dict[str, object]:
    function = {"name": name, "arguments": arguments}
    return {"index": index, "id": f"call_{index}", "type": "function", "function": function}


CALLED = (
    {"choices": [{"index": 0, "delta": {"reasoning_content": "It is small."}}]},
    {
        "choices": [
            {
                "index": 0,
                "delta": {
                    "tool_calls": [
                        _call(0, "plan", '{"action":"skip"}'),
                        _call(1, "delete_file", '{"path":"hello.py"}'),
                    ]
                },
                "finish_reason": "tool_calls",
            }
        ]
    },
    {"choices": [], "usage": {"prompt_tokens": 80, "completion_tokens": 20, "total_tokens": 100}},
)


LISTED = {"object": "list", "data": [{"id": "deepseek-chat"}, {"id": "text-embedding-1"}]}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        accepted = self.headers["Authorization"] == f"Bearer {RIGHT_KEY}"
        content = json.dumps(LISTED if accepted else {"error": {"message": "invalid key"}}).encode()
        self.send_response(200 if accepted else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if asked.get("stream"):
            tools = [each["function"]["name"] for each in asked.get("tools", ())]
            has_called = any(each["role"] == "tool" for each in asked["messages"])
            self._stream(CALLED if "plan" in tools and not has_called else STREAMED)
            return
        accepted = self.headers["Authorization"] == f"Bearer {RIGHT_KEY}"
        body: dict[str, object] = (
            {"choices": []} if accepted else {"error": {"message": "invalid key"}}
        )
        content = json.dumps(body).encode()
        self.send_response(200 if accepted else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, pieces: Iterable[object]) -> None:
        content = "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(f"{content}data: [DONE]\n\n".encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


@contextmanager
def chat_endpoint() -> Iterator[str]:
    """The url of a running endpoint."""
    server = LoopbackServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/chat/completions"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
