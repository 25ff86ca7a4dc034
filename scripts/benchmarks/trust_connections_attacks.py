"""What somebody on loopback tries against a listener; each attack gets its counts from a chance."""

import contextlib
import random
import socket
import struct
import time
from collections.abc import Callable, Iterator

from support.hostile_connections import open_half_connections, parse_status, send_raw_request
from trust_connections_targets import Target
from websockets.exceptions import ConnectionClosed

MAX_HALF_OPEN = 5_000
DRIP_SECONDS = 3.0
# The smallest status of an error.
ERROR = 400
# A longer payload has its length in further bytes.
SHORT_PAYLOAD_BYTES = 126
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
_RESET = struct.pack("ii", 1, 0)

Attack = Callable[[Target, random.Random], None]


def hold_half_open(target: Target, chance: random.Random) -> None:
    """400 connections, or thousands, that never complete a request."""
    count = chance.choice([400, 1_000, chance.randint(400, MAX_HALF_OPEN)])
    with open_half_connections(target.port, count):
        time.sleep(0.5)


def drip(target: Target, chance: random.Random) -> None:
    """Slowloris: a byte now and then on each of many connections."""
    with open_half_connections(target.port, chance.randint(50, 150)) as opened:
        deadline = time.monotonic() + DRIP_SECONDS
        while time.monotonic() < deadline:
            for each in opened:
                with contextlib.suppress(OSError):
                    each.send(b"x")
            time.sleep(0.2)


def connect_and_go(target: Target, chance: random.Random) -> None:
    """Quick connections, some closed and some reset before they are accepted."""
    for _ in range(chance.randint(1_000, 3_000)):
        with _connect(target) as connection:
            if chance.randrange(2):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)


def ask_and_never_read(target: Target, chance: random.Random) -> None:
    """Whole requests whose answers nobody takes, held open."""
    request = f"GET {target.path} HTTP/1.1\r\nHost: 127.0.0.1:{target.port}\r\n\r\n".encode()
    held = []
    for _ in range(chance.randint(200, 500)):
        connection = socket.create_connection(("127.0.0.1", target.port), timeout=20)
        with contextlib.suppress(OSError):
            connection.sendall(request)
        held.append(connection)
    time.sleep(0.3)
    for each in held:
        each.close()


def send_without_end(target: Target, chance: random.Random) -> None:
    """Lines and headers and bodies that never end."""
    beginnings = (
        b"GET /",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: ",
        b"POST /mcp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
    )
    for beginning in beginnings:
        with _connect(target) as connection, contextlib.suppress(OSError):
            connection.settimeout(1)
            connection.sendall(beginning)
            for _ in range(chance.randint(50, 300)):
                connection.sendall(b"x" * 65_536)


def smuggle(target: Target, chance: random.Random) -> None:
    """Two requests in one: each must be answered once at most, and never with success."""
    host = f"Host: 127.0.0.1:{target.port}"
    inner = f"GET {target.path} HTTP/1.1\r\n{host}\r\n\r\n"
    for headers in (
        f"Content-Length: {len(inner)}",
        "Content-Length: 0\r\nTransfer-Encoding: chunked",
        "Content-Length: 5\r\nContent-Length: 6",
        "Transfer-Encoding: xchunked",
        " Content-Length: 5",
    ):
        method = chance.choice(["GET", "POST"])
        request = f"{method} {target.path} HTTP/1.1\r\n{host}\r\n{headers}\r\n\r\n{inner}"
        answer = send_raw_request(target.port, request.encode())
        if answer.count(b"HTTP/1.1 ") > 1 or parse_status(answer) < ERROR:
            raise AssertionError(f"smuggled {headers!r}: {answer[:200]!r}")


def misuse_websocket(target: Target, chance: random.Random) -> None:
    """From inside: too large, without end, pings by the thousand, and nothing ever read."""
    for misuse in (_send_fragments, _send_pings, _claim_length, _send_oversized):
        connection = target.open_websocket()
        if connection is None:
            return
        with contextlib.suppress(OSError, ConnectionClosed, TimeoutError):
            misuse(connection.socket, chance)
        connection.close_socket()


def _send_fragments(sock: socket.socket, chance: random.Random) -> None:
    """A message whose last fragment never comes."""
    piece = 65_536
    sock.settimeout(2)
    for number in range(MAX_MESSAGE_BYTES // piece + chance.randint(2, 20)):
        sock.sendall(_frame(0x01 if number == 0 else 0x00, b"x" * piece))


def _send_pings(sock: socket.socket, chance: random.Random) -> None:
    sock.settimeout(2)
    sock.sendall(_frame(0x89, b"p" * 125) * chance.randint(2_000, 20_000))


def _claim_length(sock: socket.socket, _: random.Random) -> None:
    """A frame that is announced with 2^62 bytes."""
    sock.sendall(struct.pack("!BBQ", 0x81, 0xFF, 2**62) + b"\0" * 100)


def _send_oversized(sock: socket.socket, _: random.Random) -> None:
    sock.settimeout(5)
    sock.sendall(_frame(0x81, b"x" * (MAX_MESSAGE_BYTES + 1)))


def _frame(opcode: int, payload: bytes) -> bytes:
    """A frame with a mask of zeros, which leaves the payload as it is."""
    if len(payload) < SHORT_PAYLOAD_BYTES:
        return struct.pack("!BB", opcode, 0x80 | len(payload)) + b"\0" * 4 + payload
    return struct.pack("!BBQ", opcode, 0xFF, len(payload)) + b"\0" * 4 + payload


@contextlib.contextmanager
def _connect(target: Target) -> Iterator[socket.socket]:
    try:
        connection = socket.create_connection(("127.0.0.1", target.port), timeout=20)
    except ConnectionResetError:
        connection = socket.create_connection(("127.0.0.1", target.port), timeout=20)
    with connection:
        yield connection


ATTACKS: tuple[Attack, ...] = (
    hold_half_open, drip, connect_and_go, ask_and_never_read, send_without_end, smuggle,
    misuse_websocket,
)  # fmt: skip
