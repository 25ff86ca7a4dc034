"""A way to a server that delays each request, counts them, and may drop some of their headers."""

import http.client
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler
from typing import Self
from urllib.parse import urlsplit

from support.loopback_server import LoopbackServer
from support.polling import pause


class SlowProxy:
    """Passes requests on as they are, signature included: the host stays the server's."""

    def __init__(self, target: str, delay_seconds: float, dropped: Sequence[str] = ()) -> None:
        self.requests = 0
        self.response_bytes = 0
        host = urlsplit(target).netloc
        proxy, lost = self, {it for name in dropped for it in (name, name.lower())}

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def forward(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                pause(delay_seconds)
                connection = http.client.HTTPConnection(host)
                passed = {name: it for name, it in self.headers.items() if name not in lost}
                connection.request(self.command, self.path, body, passed)
                answer = connection.getresponse()
                content = answer.read()
                connection.close()
                proxy.requests += 1
                proxy.response_bytes += len(content)
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in {"transfer-encoding", "content-length", "connection"}:
                        self.send_header(name, value)
                length = answer.headers["Content-Length"] if self.command == "HEAD" else None
                self.send_header("Content-Length", length or str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_PUT = do_DELETE = do_HEAD = do_POST = forward  # noqa: N815

            def log_message(self, *_: object) -> None:
                """Keep quiet."""

        self._server = LoopbackServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
