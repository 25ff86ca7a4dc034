"""The HTTP server behind every service that tests play on loopback."""

import socket
from http.server import ThreadingHTTPServer

# How long an end is waited for; the library's half a second was a third of the time of such tests.
POLL_SECONDS = 0.02


class LoopbackServer(ThreadingHTTPServer):
    """Ends soon, and does not hold back the body of an answer until its head is confirmed."""

    request_queue_size = 128

    def server_bind(self) -> None:
        """Connections inherit the option."""
        super().server_bind()
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def serve_forever(self, poll_interval: float = POLL_SECONDS) -> None:
        super().serve_forever(poll_interval)
