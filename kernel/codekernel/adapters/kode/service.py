"""The Kode service: ``GET /health`` and ``POST /api/chat/stream`` on our own listener.

A request runs one turn of an agent and streams it as server-sent events. A client that leaves, or
does not read, stops its turn; no more than MAX_RUNNING_TURNS run at once.
"""

import contextlib
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from http import HTTPStatus

from codekernel.adapters.kode.chat_request import (
    FolderNotAllowed,
    KodeChatRequest,
    parse_chat_request,
)
from codekernel.adapters.kode.stream import (
    KodeMessage,
    StreamedEvent,
    encode_server_sent_event,
    stream_messages,
)
from codekernel.domain.turn_events import TurnFailed
from codekernel.errors import KernelError, WrongParam
from codekernel.transport.http_messages import (
    END_OF_CHUNKS,
    RECEIVE_BYTES,
    TEXT_CONTENT_TYPE,
    BadRequest,
    RequestHead,
    encode_chunk,
    get_body_length,
    is_same_token,
    read_body,
    render_response,
    render_text,
)
from codekernel.transport.listener import (
    ANY_HOST,
    LOOPBACK_HOST,
    HttpListener,
    open_listening_socket,
)

logger = logging.getLogger(__name__)

HEALTH_PATH, CHAT_PATH = "/health", "/api/chat/stream"

SERVICE_NAME = "kode-agent-service"

# Each has a session of the kernel and some ten threads there; a model behind it is slower anyway.
MAX_RUNNING_TURNS = 16

RETRY_AFTER_SECONDS = 5

# A history is in the message. Escaped, it fits into a line of the kernel, which has 16 MiB.
MAX_BODY_BYTES = 4 * 1024 * 1024

# For a client to take one frame; it then counts as gone.
SEND_TIMEOUT_SECONDS = 60.0

# Of a turn that failed before a model was chosen.
UNKNOWN_MODEL = "main"

_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\n"
    b"Content-Type: text/event-stream; charset=utf-8\r\n"
    b"Cache-Control: no-cache, no-transform\r\n"
    b"Transfer-Encoding: chunked\r\n"
    b"Connection: close\r\n\r\n"
)


@dataclass(frozen=True, slots=True)
class ServedTurn:
    """One turn of an agent; ``events`` raise KernelError, ``stop`` ends them soon."""

    model: str
    is_new_session: bool
    events: Iterator[StreamedEvent]
    stop: Callable[[], None]


# Makes a turn ready. Raises WrongParam for a request that cannot be served, and KernelError.
BeginTurn = Callable[[KodeChatRequest], AbstractContextManager[ServedTurn]]


class KodeService:
    """One port, bound when it is constructed; without a secret every chat is refused."""

    def __init__(
        self, port: int, secret: str, begin: BeginTurn, *, allow_remote: bool = False
    ) -> None:
        """Bind the port, 0 for any. Raises OSError."""
        listening = open_listening_socket(ANY_HOST if allow_remote else LOOPBACK_HOST, port)
        self.port: int = listening.getsockname()[1]
        self.url = f"http://{LOOPBACK_HOST}:{self.port}"
        self.send_timeout_seconds = SEND_TIMEOUT_SECONDS
        self._secret = secret
        self._begin = begin
        self._known_hosts = (
            ()
            if allow_remote
            else tuple(f"{name}:{self.port}" for name in (LOOPBACK_HOST, "localhost", "[::1]"))
        )
        self._free_turns = threading.Semaphore(MAX_RUNNING_TURNS)
        self._listener = HttpListener(
            listening, self._answer_head, self._serve, "kode", takes_body=True
        )

    def serve(self) -> None:
        """Serve until ``stop``, which another thread calls."""
        self._listener.run()

    def stop(self) -> None:
        """Stop listening; running turns go on."""
        self._listener.stop()

    def _answer_head(self, head: RequestHead) -> bytes | None:
        """Return the response to a request whose body is not read; None for a chat."""
        if self._known_hosts and head.get_header("Host") not in self._known_hosts:
            # A name that was made to point at this machine, so that a page may ask it.
            return render_text(HTTPStatus.FORBIDDEN, "Only programs of this machine may ask this.")
        route = (head.method, head.path)
        if route == ("GET", HEALTH_PATH):
            state = {"status": "ok", "service": SERVICE_NAME, "timestamp": time.time_ns() // 10**6}
            return _render_json(HTTPStatus.OK, state)
        if route != ("POST", CHAT_PATH):
            return render_response(HTTPStatus.NOT_FOUND, b"Not found", TEXT_CONTENT_TYPE)
        if not self._has_secret(head):
            return _render_error(HTTPStatus.UNAUTHORIZED, "X-API-Key is missing or wrong.")
        try:
            get_body_length(head, MAX_BODY_BYTES)
        except BadRequest as error:
            return _render_refusal(error)
        return None

    def _has_secret(self, head: RequestHead) -> bool:
        key = head.get_header("X-API-Key")
        if not self._secret or key is None:
            return False
        return is_same_token(key.encode("latin-1").decode(errors="replace"), self._secret)

    def _serve(self, connection: socket.socket, head: RequestHead, received: bytes) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError):  # the client has left, or does not read
            refusal = self._serve_chat(connection, head, received)
            if refusal:
                connection.sendall(refusal)

    def _serve_chat(
        self, connection: socket.socket, head: RequestHead, received: bytes
    ) -> bytes | None:
        """Stream a turn; return the response to a request that cannot be served."""
        try:
            request = parse_chat_request(read_body(connection, head, received, MAX_BODY_BYTES))
        except (BadRequest, WrongParam) as error:
            return _render_refusal(error)
        connection.settimeout(self.send_timeout_seconds)
        if not self._free_turns.acquire(blocking=False):
            return _render_error(
                HTTPStatus.TOO_MANY_REQUESTS,
                f"{MAX_RUNNING_TURNS} requests are at work: try again later.",
                {"Retry-After": str(RETRY_AFTER_SECONDS)},
            )
        with contextlib.ExitStack() as resources:
            resources.callback(self._free_turns.release)
            try:
                turn = resources.enter_context(self._begin(request))
            except WrongParam as error:
                return _render_refusal(error)
            except Exception as error:  # noqa: BLE001 - the guard of this thread
                failure = _describe_failure(error)
                _send_stream(connection, stream_messages([failure], UNKNOWN_MODEL))
                return None
            _stream_turn(connection, turn)
        return None


def _stream_turn(connection: socket.socket, turn: ServedTurn) -> None:
    """Send the events of a turn; stop it if the client leaves, and wait for its end."""
    events = _catch_failure(turn.events)
    watched = _check_client(connection, events)
    messages = stream_messages(watched, turn.model, is_new_session=turn.is_new_session)
    try:
        _send_stream(connection, messages)
    except OSError:
        turn.stop()
        for _ in events:
            pass


def _catch_failure(events: Iterable[StreamedEvent]) -> Iterator[StreamedEvent]:
    try:
        yield from events
    except Exception as error:  # noqa: BLE001 - the guard of this thread
        yield _describe_failure(error)


def _describe_failure(error: Exception) -> TurnFailed:
    if isinstance(error, KernelError):
        return TurnFailed(error.code, str(error))
    logger.error("a turn of the Kode service failed", exc_info=error)
    return TurnFailed(KernelError.code, f"The agent stopped unexpectedly ({type(error).__name__}).")


def _check_client(
    connection: socket.socket, events: Iterable[StreamedEvent]
) -> Iterator[StreamedEvent]:
    """Yield the events. Raises ConnectionResetError when the client has closed its end."""
    timeout_seconds = connection.gettimeout()
    for event in events:
        connection.settimeout(0)
        with contextlib.suppress(BlockingIOError):
            if not connection.recv(RECEIVE_BYTES):
                raise ConnectionResetError("the client has left")
        connection.settimeout(timeout_seconds)
        yield event


def _send_stream(connection: socket.socket, messages: Iterable[KodeMessage]) -> None:
    connection.sendall(_STREAM_HEAD)
    for message in messages:
        connection.sendall(encode_chunk(encode_server_sent_event(message)))
    connection.sendall(END_OF_CHUNKS)


# The codes of responses without a stream; the first two are those of the existing service.
_ERROR_CODES = {
    HTTPStatus.UNAUTHORIZED: "UNAUTHORIZED",
    HTTPStatus.BAD_REQUEST: "BAD_REQUEST",
    HTTPStatus.FORBIDDEN: "FORBIDDEN",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "PAYLOAD_TOO_LARGE",
    HTTPStatus.TOO_MANY_REQUESTS: "RATE_LIMITED",
}


def _render_error(
    status: HTTPStatus, message: str, headers: Mapping[str, str] | None = None
) -> bytes:
    code = _ERROR_CODES.get(status, "BAD_REQUEST")
    return _render_json(status, {"error": code, "message": message}, headers)


def _render_refusal(error: BadRequest | WrongParam) -> bytes:
    if isinstance(error, BadRequest):
        return _render_error(error.status, f"Not understood: {error}.")
    is_outside = isinstance(error, FolderNotAllowed)
    return _render_error(HTTPStatus.FORBIDDEN if is_outside else HTTPStatus.BAD_REQUEST, str(error))


def _render_json(
    status: HTTPStatus, content: Mapping[str, object], headers: Mapping[str, str] | None = None
) -> bytes:
    return render_response(status, json.dumps(content).encode(), "application/json", headers)
