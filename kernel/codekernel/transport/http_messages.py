"""HTTP/1.1: strict, bounded parsing of requests, rendering of responses, bearer tokens.

Anything ambiguous is refused, and heads are rendered anew; responses close the connection.
"""

import hmac
import re
import secrets
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

MAX_TARGET_BYTES = 8 * 1024

# Cookies are shared by all ports of a host: a browser may send us those of every other local site,
# and Chromium sends up to 180 cookies of 4 KiB. Beyond this, no header of ours would be looked at.
MAX_HEAD_BYTES = 1024 * 1024

MAX_HEADERS = 128

_END = re.compile(rb"\r?\n\r?\n")

_TOKEN = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")

# Tab, printable ASCII and what older servers send as Latin-1; no other control characters.
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")

_TARGET = re.compile(r"/(?!/)(?:[\x21\x22\x24\x26-\x7e]|%[0-9A-Fa-f]{2})*")

_NUL = re.compile(r"%00")


class BadRequest(ValueError):
    """A request that is refused unread; ``status`` is sent to the client."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class RequestHead:
    """A request line and its headers; ``path`` and ``query`` are still percent-encoded."""

    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]

    @property
    def target(self) -> str:
        """The request target as it was sent."""
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def has_body(self) -> bool:
        """Whether something follows the head."""
        lengths = set(self.get_header_values("Content-Length"))
        return bool(self.get_header_values("Transfer-Encoding")) or not lengths <= {"0"}

    def render(self) -> bytes:
        """Return the head as it is passed on."""
        lines = [f"{self.method} {self.target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def get_header_values(self, name: str) -> list[str]:
        """Return the values of all headers of this name, in their order."""
        wanted = name.lower()
        return [value for given, value in self.headers if given.lower() == wanted]

    def get_header(self, name: str) -> str | None:
        """Return the value of a header; None if it is missing or ambiguous."""
        found = self.get_header_values(name)
        return found[0] if len(found) == 1 else None


def find_head_end(received: bytes | bytearray, searched: int = 0) -> int:
    """Return where the head ends, or -1; ``searched`` bytes were looked at before."""
    found = _END.search(received, max(0, searched - 3))
    return found.end() if found else -1


def check_head_size(received: bytes | bytearray) -> None:
    """Raise BadRequest for a head that is too long already, though its end has not come."""
    if len(received) > MAX_HEAD_BYTES:
        raise BadRequest(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the headers are too long")
    if len(received) > MAX_TARGET_BYTES and b"\n" not in received[: MAX_TARGET_BYTES + 32]:
        raise BadRequest(HTTPStatus.REQUEST_URI_TOO_LONG, "the request line is too long")


def parse_head(head: bytes) -> RequestHead:
    """Parse a whole head, its empty line included. Raises BadRequest."""
    check_head_size(head)
    lines = head.decode("latin-1").split("\r\n")
    if any("\n" in line for line in lines) or lines[-2:] != ["", ""]:
        raise _build_bad_request("a line ends without CR LF")
    method, path, query = _parse_request_line(lines[0])
    if len(lines) - 3 > MAX_HEADERS:
        raise BadRequest(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "too many headers")
    parsed = RequestHead(method, path, query, tuple(map(_parse_header, lines[1:-2])))
    if len(parsed.get_header_values("Host")) != 1:
        raise _build_bad_request("there is not exactly one Host")
    names = ("Transfer-Encoding", "Content-Length")
    if sum(len(parsed.get_header_values(name)) for name in names) > 1:
        raise _build_bad_request("the length of the body is ambiguous")
    return parsed


def reject_body(head: RequestHead, surplus: int) -> None:
    """Raise BadRequest if a body was announced, or ``surplus`` bytes came behind the head."""
    if head.has_body:
        raise BadRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "a request here has no body")
    if surplus:
        raise _build_bad_request("more was sent than a request")


def _parse_request_line(line: str) -> tuple[str, str, str]:
    method, _, rest = line.partition(" ")
    target, _, version = rest.partition(" ")
    if not _TOKEN.fullmatch(method):
        raise _build_bad_request("the request line is malformed")
    if version != "HTTP/1.1":
        status = HTTPStatus.HTTP_VERSION_NOT_SUPPORTED
        raise BadRequest(
            status if version.startswith("HTTP/") else HTTPStatus.BAD_REQUEST,
            "the request is not of HTTP/1.1",
        )
    if len(target) > MAX_TARGET_BYTES:
        raise BadRequest(HTTPStatus.REQUEST_URI_TOO_LONG, "the request target is too long")
    if not _TARGET.fullmatch(target) or _NUL.search(target):
        raise _build_bad_request("the request target is malformed")
    path, _, query = target.partition("?")
    return method, path, query


def _parse_header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
        raise _build_bad_request("a header is malformed")
    return name, value.strip(" \t")


def _build_bad_request(reason: str) -> BadRequest:
    return BadRequest(HTTPStatus.BAD_REQUEST, reason)


TEXT_CONTENT_TYPE = "text/plain; charset=utf-8"


def render_response(
    status: HTTPStatus, content: bytes, content_type: str, headers: Mapping[str, str] | None = None
) -> bytes:
    """Return a whole response; ``headers`` are those besides type, length and connection."""
    lines = [f"HTTP/1.1 {status.value} {status.phrase}"]
    if content:
        lines.append(f"Content-Type: {content_type}")
    if status is not HTTPStatus.NO_CONTENT:
        lines.append(f"Content-Length: {len(content)}")
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    lines += ["Connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1") + content


def render_text(status: HTTPStatus, sentence: str) -> bytes:
    """Return a response for a program: one line of text, not to be cached."""
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return render_response(status, f"{sentence}\n".encode(), TEXT_CONTENT_TYPE, headers)


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


_TOKEN_BYTES = 32

BEARER_PREFIX = "Bearer "


def make_token() -> str:
    """Return a new random token."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def is_same_token(given: str, expected: str) -> bool:
    """Compare two tokens in a time that does not depend on where they differ."""
    return hmac.compare_digest(given.encode(errors="replace"), expected.encode())


def has_bearer_token(headers: Sequence[str], token: str) -> bool:
    """Return whether there is one Authorization header, and it has the token."""
    return len(headers) == 1 and is_same_token(headers[0], f"{BEARER_PREFIX}{token}")
