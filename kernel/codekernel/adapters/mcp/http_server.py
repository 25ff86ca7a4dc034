"""MCP over streamable HTTP on loopback with a bearer token.

A connection carries one request. Its reply is JSON, or a stream of events as soon as there is
progress or the reply takes long. Nothing is sent to a client that does not ask, so there is no GET.
"""

import queue
import secrets
import select
import socket
import threading
import time
from base64 import b64decode
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus

from codekernel.adapters.mcp import protocol
from codekernel.adapters.mcp.protocol import McpError, Message
from codekernel.adapters.mcp.server import McpMethod, McpServer, Reply, encode_message
from codekernel.transport.http_messages import (
    RequestHead,
    has_bearer_token,
    make_token,
    render_response,
    render_text,
)
from codekernel.transport.lines import MAX_LINE_BYTES
from codekernel.transport.listener import HttpListener, open_listening_socket

HOST = "127.0.0.1"

MCP_PATH = "/mcp"

# A client that neither sends its message nor reads what it asked for.
SOCKET_TIMEOUT_SECONDS = 30.0

# How soon a call ends whose client is gone.
POLL_INTERVAL_SECONDS = 0.25

# Clients give up on a stream that is silent for longer than a minute or so.
KEEP_ALIVE_INTERVAL_SECONDS = 15.0

# Clients that began with ``initialize``; the oldest must begin again.
MAX_SESSIONS = 1024

_RECEIVE_BYTES = 64 * 1024

_JSON = "application/json"

_EVENTS = "text/event-stream"

_SESSION_HEADER, _VERSION_HEADER = "Mcp-Session-Id", "Mcp-Protocol-Version"

_UNAUTHORIZED_BODY = (
    b'{"error":"Send the token that codekernel mcp printed: Authorization: Bearer ..."}'
)

_EVENTS_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    b"Cache-Control: no-cache, no-transform\r\nConnection: close\r\n\r\n"
)

# Of replies that are no streams.
_ERROR_STATUS = {
    protocol.PARSE_ERROR: HTTPStatus.BAD_REQUEST,
    protocol.INVALID_REQUEST: HTTPStatus.BAD_REQUEST,
    protocol.INVALID_PARAMS: HTTPStatus.BAD_REQUEST,
    protocol.HEADER_MISMATCH: HTTPStatus.BAD_REQUEST,
    protocol.UNSUPPORTED_VERSION: HTTPStatus.BAD_REQUEST,
    protocol.METHOD_NOT_FOUND: HTTPStatus.NOT_FOUND,
}

# Parameters that a header repeats, in ENVELOPE_VERSION.
_NAMED_BY = {"tools/call": "name", "resources/read": "uri"}


class _HttpRefusal(Exception):
    """A request that gets a status and a sentence."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class McpHttpServer:
    """One port, bound when it is constructed."""

    def __init__(self, port: int, token: str = "") -> None:
        """Bind the port, 0 for any; an empty token makes a new one. Raises OSError."""
        self._socket = open_listening_socket(HOST, port)
        self._port: int = self._socket.getsockname()[1]
        self.token = token or make_token()
        self.url = f"http://{HOST}:{self._port}{MCP_PATH}"
        self._sessions: dict[str, McpServer] = {}
        self._lock = threading.Lock()
        self._methods: Mapping[str, McpMethod] = {}

    def serve(self, methods: Mapping[str, McpMethod]) -> None:
        """Answer until the process ends."""
        self._methods = methods
        HttpListener(
            self._socket, self._reject_request, self._serve_connection, "mcp", takes_body=True
        ).run()

    def _reject_request(self, head: RequestHead) -> bytes | None:
        if not has_bearer_token(head.get_header_values("Authorization"), self.token):
            headers = {"WWW-Authenticate": "Bearer", "Cache-Control": "no-store"}
            status = HTTPStatus.UNAUTHORIZED
            return render_response(status, _UNAUTHORIZED_BODY, _JSON, headers)
        names = [f"{name}:{self._port}" for name in (HOST, "localhost")]
        if head.get_header("Host") not in names:
            return render_text(HTTPStatus.MISDIRECTED_REQUEST, "Not a name of this server.")
        origins = head.get_header_values("Origin")
        if any(origin not in {f"http://{name}" for name in names} for origin in origins):
            return render_text(HTTPStatus.FORBIDDEN, "Other pages may not ask.")
        if head.path != MCP_PATH:
            return render_text(HTTPStatus.NOT_FOUND, f"Only {MCP_PATH} is served.")
        return None

    def _serve_connection(self, sock: socket.socket, head: RequestHead, body: bytes) -> None:
        sock.settimeout(SOCKET_TIMEOUT_SECONDS)
        with suppress(OSError):  # the client is gone
            try:
                match head.method:
                    case "POST":
                        self._serve_post(sock, head, _read_body(sock, head, body))
                    case "DELETE":
                        self._find_session(head).cancel_all()
                        self._sessions.pop(str(head.get_header(_SESSION_HEADER)), None)
                        sock.sendall(render_text(HTTPStatus.OK, "The session has ended."))
                    case _:
                        allow = {"Allow": "POST, DELETE"}
                        status = HTTPStatus.METHOD_NOT_ALLOWED
                        sock.sendall(render_response(status, b"", _JSON, allow))
            except _HttpRefusal as refusal:
                sock.sendall(render_text(refusal.status, str(refusal)))

    def _find_session(self, head: RequestHead) -> McpServer:
        name = head.get_header(_SESSION_HEADER)
        if name is None:
            raise _HttpRefusal(HTTPStatus.BAD_REQUEST, f"{_SESSION_HEADER} is missing.")
        if session := self._sessions.get(name):
            return session
        raise _HttpRefusal(HTTPStatus.NOT_FOUND, "There is no such session: initialize again.")

    def _serve_post(self, sock: socket.socket, head: RequestHead, body: bytes) -> None:
        accepted = ",".join(head.get_header_values("Accept"))
        if "*/*" not in accepted and not (_JSON in accepted and _EVENTS in accepted):
            raise _HttpRefusal(HTTPStatus.NOT_ACCEPTABLE, f"Accept {_JSON} and {_EVENTS}.")
        version = head.get_header(_VERSION_HEADER)
        message: object = None
        try:
            message = protocol.parse_message(body)
            if version is not None and version not in protocol.HANDSHAKE_VERSIONS:
                _check_headers(head, message)
                server = McpServer(self._methods, protocol.ENVELOPE_VERSION)
                _answer(sock, server, message)
            elif isinstance(message, dict) and message.get("method") == "initialize":
                server, name = self._open_session()
                _answer(sock, server, message, name)
            else:
                _answer(sock, self._find_session(head), message)
        except McpError as error:
            request_id = message.get("id") if isinstance(message, dict) else None
            sock.sendall(_render_reply(protocol.make_error_reply(request_id, error)))

    def _open_session(self) -> tuple[McpServer, str]:
        server, name = McpServer(self._methods), secrets.token_urlsafe()
        with self._lock:
            self._sessions[name] = server
            if len(self._sessions) > MAX_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
        return server, name


def _check_headers(head: RequestHead, message: object) -> None:
    """Check that the headers repeat a request, for those who route by them. Raises McpError."""
    if not isinstance(message, dict) or not isinstance(params := message.get("params"), dict):
        return  # and refused as such
    expected = {
        _VERSION_HEADER: protocol.get_meta(params).get(protocol.VERSION_KEY),
        "Mcp-Method": message.get("method"),
        "Mcp-Name": params.get(_NAMED_BY.get(str(message.get("method")), "")),
    }
    for name, value in expected.items():
        if isinstance(value, str) and _decode_header(head.get_header(name)) != value:
            reason = f"{name.lower()} header does not match the request body"
            raise McpError(protocol.HEADER_MISMATCH, reason)


def _decode_header(value: str | None) -> str | None:
    """Return what a header means: text that is not plain ASCII is in base64."""
    if value is None or not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return b64decode(value[9:-2], validate=True).decode()
    except ValueError:
        return None


def _read_body(sock: socket.socket, head: RequestHead, begun: bytes) -> bytes:
    length = head.get_header("Content-Length")
    if length is None or not length.isdecimal():
        raise _HttpRefusal(HTTPStatus.LENGTH_REQUIRED, "Send a Content-Length.")
    if int(length) > MAX_LINE_BYTES:
        raise _HttpRefusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The message is too long.")
    if (head.get_header("Content-Type") or "").partition(";")[0].strip().lower() != _JSON:
        raise _HttpRefusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Send {_JSON}.")
    received = bytearray(begun)
    while len(received) < int(length):
        if not (piece := sock.recv(_RECEIVE_BYTES)):
            raise ConnectionError("the client is gone")
        received += piece
    return bytes(received[: int(length)])


@dataclass(frozen=True, slots=True)
class _Finished:
    """The end of what is sent."""

    reply: Reply


def _answer(sock: socket.socket, server: McpServer, message: object, session: str = "") -> None:
    """Send the reply to a message, and before it what is notified. Raises OSError."""
    outbox: queue.SimpleQueue[Message | _Finished] = queue.SimpleQueue()
    work = server.accept(message, outbox.put)
    if work is None:
        sock.sendall(render_response(HTTPStatus.ACCEPTED, b"", _JSON))
        return
    run = partial(_run, work, outbox)
    threading.Thread(target=run, name="mcp:call", daemon=True).start()
    if server.version != protocol.ENVELOPE_VERSION:
        _send_outbox(sock, outbox, session)
        return
    try:
        _send_outbox(sock, outbox, ends_with_client=True)
    finally:
        server.cancel_all()  # it has no other requests


def _run(work: Callable[[], Reply], outbox: "queue.SimpleQueue[Message | _Finished]") -> None:
    outbox.put(_Finished(work()))


def _send_outbox(
    sock: socket.socket,
    outbox: "queue.SimpleQueue[Message | _Finished]",
    session: str = "",
    *,
    ends_with_client: bool = False,
) -> None:
    """Send what comes until it is finished. Raises OSError."""
    is_stream, last = False, time.monotonic()
    while True:
        try:
            item = outbox.get(timeout=POLL_INTERVAL_SECONDS)
        except queue.Empty:
            if ends_with_client and _is_gone(sock):
                raise ConnectionError("the client is gone") from None
            if time.monotonic() - last < KEEP_ALIVE_INTERVAL_SECONDS:
                continue
            event = b": ping\n\n"
        else:
            if isinstance(item, _Finished) and not is_stream:
                sock.sendall(_render_reply(item.reply, session))
                return
            content = item.reply if isinstance(item, _Finished) else item
            event = b"event: message\ndata: %b\n\n" % encode_message(content) if content else b""
        sock.sendall(event if is_stream else _EVENTS_HEAD + event)
        is_stream, last = True, time.monotonic()
        if isinstance(item, _Finished):
            return


def _is_gone(sock: socket.socket) -> bool:
    readable, _, _ = select.select([sock], [], [], 0)
    return bool(readable) and not sock.recv(1, socket.MSG_PEEK)


def _render_reply(reply: Reply, session: str = "") -> bytes:
    """Return the whole response of a request."""
    if reply is None:  # it was cancelled
        return _EVENTS_HEAD
    code = reply["error"]["code"] if isinstance(reply, dict) and "error" in reply else 0
    status = _ERROR_STATUS.get(code, HTTPStatus.OK)
    headers = {_SESSION_HEADER: session} if session else {}
    return render_response(status, encode_message(reply), _JSON, headers)
