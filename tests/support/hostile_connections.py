"""Hostile connections: half open, slow, never read, by the hundred."""

import contextlib
import socket
import time
from collections.abc import Callable, Iterator

TIMEOUT_SECONDS = 60.0

# What a half-open connection has said before it falls silent.
PARTIAL_REQUESTS = (
    b"",
    b"G",
    b"GET / HTTP/1.1\r\n",
    b"GET /kernel HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n",
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n{",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
)


def limit_descriptors(count: int) -> Callable[[], None]:
    """What a child does before it begins, to have so many descriptors."""

    def limit() -> None:
        import resource  # noqa: PLC0415 - POSIX alone has it

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))

    return limit


@contextlib.contextmanager
def open_half_connections(port: int, count: int) -> Iterator[list[socket.socket]]:
    """So many connections that never complete a request; none of them is closed before the end."""
    opened: list[socket.socket] = []
    try:
        for number in range(count):
            opened.append(_connect(port))
            with contextlib.suppress(OSError):
                opened[-1].send(PARTIAL_REQUESTS[number % len(PARTIAL_REQUESTS)])
        yield opened
    finally:
        for each in opened:
            each.close()


def _connect(port: int) -> socket.socket:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_SECONDS)
        except (TimeoutError, ConnectionResetError):
            if time.monotonic() > deadline:
                raise


def send_raw_request(port: int, request: bytes) -> bytes:
    """Everything that is answered to these bytes, until the server closes the connection."""
    answered = b""
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_SECONDS) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(request)
        with contextlib.suppress(ConnectionError):
            while piece := connection.recv(65536):
                answered += piece
    return answered


def parse_status(answer: bytes) -> int:
    """The status of an HTTP response; 0 if there is none."""
    words = answer[:20].split(b" ")
    return int(words[1]) if answer.startswith(b"HTTP/1.1 ") and words[1].isdigit() else 0
