"""Bodies of HTTP/1.1: read that of a request within limits, send one of unknown length."""

import re
import socket
import time
from http import HTTPStatus

from codekernel.transport.http_messages import BadRequest, RequestHead

RECEIVE_BYTES = 64 * 1024

# For the whole body of a client that was let in.
BODY_TIMEOUT_SECONDS = 30.0

# Of the line with a chunk's length, and of a trailer.
MAX_CHUNK_LINE_BYTES = 1024

_LENGTH = re.compile(r"[0-9]{1,15}")

_CHUNK_LENGTH = re.compile(rb"([0-9A-Fa-f]{1,12})[ \t]*(?:;.*)?")

END_OF_CHUNKS = b"0\r\n\r\n"


def get_body_length(head: RequestHead, max_bytes: int) -> int | None:
    """Return how long the body is, None if it comes in chunks. Raises BadRequest."""
    encodings = head.get_header_values("Transfer-Encoding")
    if encodings:
        if encodings[0].lower() != "chunked":
            raise BadRequest(HTTPStatus.NOT_IMPLEMENTED, "the encoding of the body is unknown")
        return None
    length = head.get_header("Content-Length") or "0"
    if not _LENGTH.fullmatch(length):
        raise BadRequest(HTTPStatus.BAD_REQUEST, "the length of the body is malformed")
    if int(length) > max_bytes:
        raise _build_too_large(max_bytes)
    return int(length)


def read_body(
    connection: socket.socket, head: RequestHead, received: bytes, max_bytes: int
) -> bytes:
    """Return the body, of which ``received`` has come. Raises BadRequest, OSError."""
    length = get_body_length(head, max_bytes)
    if head.get_header_values("Expect"):
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    reader = _BodyReader(connection, received)
    return reader.read_chunks(max_bytes) if length is None else reader.read_bytes(length)


def encode_chunk(content: bytes) -> bytes:
    """Encode a piece of a body that ends with END_OF_CHUNKS."""
    return b"%x\r\n%b\r\n" % (len(content), content)


class _BodyReader:
    def __init__(self, connection: socket.socket, received: bytes) -> None:
        self._connection = connection
        self._received = bytearray(received)
        self._deadline = time.monotonic() + BODY_TIMEOUT_SECONDS

    def read_bytes(self, count: int) -> bytes:
        while len(self._received) < count:
            self._receive()
        return self._take(count)

    def read_chunks(self, max_bytes: int) -> bytes:
        body = bytearray()
        while count := self._read_chunk_length():
            if len(body) + count > max_bytes:
                raise _build_too_large(max_bytes)
            body += self.read_bytes(count)
            if self._read_line():
                raise BadRequest(HTTPStatus.BAD_REQUEST, "a chunk is longer than it says")
        while self._read_line():
            pass  # trailers
        return bytes(body)

    def _read_chunk_length(self) -> int:
        found = _CHUNK_LENGTH.fullmatch(self._read_line())
        if not found:
            raise BadRequest(HTTPStatus.BAD_REQUEST, "the length of a chunk is malformed")
        return int(found[1], 16)

    def _read_line(self) -> bytes:
        while (end := self._received.find(b"\r\n")) < 0:
            if len(self._received) > MAX_CHUNK_LINE_BYTES:
                raise BadRequest(HTTPStatus.BAD_REQUEST, "the line of a chunk is too long")
            self._receive()
        return self._take(end + 2)[:-2]

    def _receive(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the body did not come in time")
        self._connection.settimeout(left)
        chunk = self._connection.recv(RECEIVE_BYTES)
        if not chunk:
            raise ConnectionResetError("the body was cut off")
        self._received += chunk

    def _take(self, count: int) -> bytes:
        taken = bytes(self._received[:count])
        del self._received[:count]
        return taken


def _build_too_large(max_bytes: int) -> BadRequest:
    return BadRequest(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body has more than {max_bytes:,} bytes"
    )
