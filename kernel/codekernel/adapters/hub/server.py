"""The application and its port: routes behind the checks of every request, connections limited.

Host and Origin are checked first (DNS rebinding, foreign pages); CORS is answered for the origins
of the settings alone. uvicorn ends connections that never finish a request.
"""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from codekernel.adapters.hub.certificate import TlsFiles
from codekernel.adapters.hub.devices import AddressRules
from codekernel.adapters.hub.routes import (
    auth,
    events,
    files,
    machines,
    messages,
    sessions,
)
from codekernel.adapters.hub.routes.requests import HubContext, RequestRefused, render_refusal
from codekernel.adapters.static_pages import SECURITY_HEADERS
from codekernel.transport.lines import MAX_LINE_BYTES

# For the head of a request, from the connection or the end of the answer before it.
HEAD_TIMEOUT_SECONDS = 10.0

KEEP_ALIVE_SECONDS = 75

# Devices hold two connections each, and a page some more while it loads.
MAX_CONNECTIONS = 2_500

MAX_HEAD_BYTES = 32 * 1024

# Answers in progress at the end are not waited for longer.
SHUTDOWN_TIMEOUT_SECONDS = 2

# Finds machines that sleep; they are shown as away after 45 s.
PING_INTERVAL_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class HubPort:
    """A bound socket, and how it may be reached."""

    listening: socket.socket
    rules: AddressRules
    tls: TlsFiles | None = None
    is_behind_tunnel: bool = False
    head_timeout_seconds: float = HEAD_TIMEOUT_SECONDS


class HubServer(uvicorn.Server):
    """Serves an application on a socket that is bound already; runs tasks beside it."""

    def __init__(self, app: ASGIApp, port: HubPort) -> None:
        # uvicorn warns of each malformed and each unfinished request.
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        super().__init__(_make_config(app, port))
        self._listening = port.listening
        self._on_startup: Callable[[], Awaitable[None]] | None = None
        self._on_shutdown: Callable[[], None] | None = None

    def serve_until_stopped(
        self, on_startup: Callable[[], Awaitable[None]], on_shutdown: Callable[[], None]
    ) -> None:
        """Serve until ``stop``; both callbacks run on the event loop."""
        self._on_startup, self._on_shutdown = on_startup, on_shutdown
        asyncio.run(self.serve(sockets=[self._listening]))

    def stop(self) -> None:
        """End; callable from any thread."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start what runs beside the application, then accept."""
        if self._on_startup is not None:
            await self._on_startup()
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams first: they would be waited for."""
        if self._on_shutdown is not None:
            self._on_shutdown()
        await super().shutdown(sockets)


def _make_config(app: ASGIApp, port: HubPort) -> uvicorn.Config:
    secured: dict[str, Any] = {}
    if port.tls is not None:
        secured = {
            "ssl_certfile": str(port.tls.certificate),
            "ssl_keyfile": str(port.tls.key),
            "ssl_keyfile_password": port.tls.passphrase or None,
        }
    config = _HubConfig(
        app,
        http=LimitedHttpProtocol,
        ws="websockets-sansio",
        ws_max_size=MAX_LINE_BYTES,
        ws_ping_interval=PING_INTERVAL_SECONDS,
        ws_ping_timeout=PING_INTERVAL_SECONDS,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        # Only a tunnel on this machine may say who calls.
        proxy_headers=port.is_behind_tunnel,
        forwarded_allow_ips="127.0.0.1,::1",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_SECONDS,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        **secured,
    )
    config.head_timeout_seconds = port.head_timeout_seconds
    return config


class _HubConfig(uvicorn.Config):
    """What the connections of uvicorn are given."""

    head_timeout_seconds: float


class LimitedHttpProtocol(H11Protocol):
    """A connection that must send the head of each request in time."""

    config: _HubConfig
    _head_timer: asyncio.TimerHandle | None = None
    _is_upgraded = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Refuse a connection too many."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
        else:
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Measure the time from the first byte of a head to its last."""
        super().data_received(data)
        is_between = self.cycle is None or self.cycle.response_complete
        if self._is_upgraded or not is_between:
            self._stop_timer()
        elif self._head_timer is None:
            self._start_timer()

    def handle_websocket_upgrade(self, event: Any) -> None:
        """Leave the connection to the WebSocket."""
        self._is_upgraded = True
        super().handle_websocket_upgrade(event)

    def _start_timer(self) -> None:
        self._head_timer = self.loop.call_later(self.config.head_timeout_seconds, self._end_idle)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _end_idle(self) -> None:
        self._head_timer = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()


_ALLOWED_METHODS = "GET, POST, PATCH, DELETE"

_ALLOWED_HEADERS = "Authorization, Content-Type, Last-Event-ID"

_PREFLIGHT_SECONDS = "600"

_PARTS = (auth, sessions, messages, machines, files, events)


def make_app(hub: HubContext) -> ASGIApp:
    """Return the application of a hub."""
    routes = [route for part in _PARTS for route in part.make_routes(hub)]
    app = Starlette(
        routes=[*routes, _make_page_route(hub)], exception_handlers={404: _answer_unknown}
    )
    return _check_addresses(app, hub.rules)


async def _answer_unknown(_: Request, __: Exception) -> Response:
    return render_refusal(RequestRefused(HTTPStatus.NOT_FOUND, "No such route", "not_found"))


def _check_addresses(app: ASGIApp, rules: AddressRules) -> ASGIApp:
    async def check(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not rules.is_known_host(hosts[0]):
            await _refuse(scope, receive, send, "The hub is not called by this name", "bad_host")
        elif any(not rules.is_known_origin(origin, hosts[0]) for origin in origins):
            await _refuse(scope, receive, send, "This page may not use the hub", "bad_origin")
        elif origins and rules.is_named_origin(origins[0]):
            await _serve_named_origin(app, scope, receive, send, origins[0])
        else:
            await app(scope, receive, send)

    return check


async def _refuse(scope: Scope, receive: Receive, send: Send, reason: str, code: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})  # before it is accepted: 403
        return
    response = render_refusal(RequestRefused(HTTPStatus.FORBIDDEN, reason, code))
    response.headers["Connection"] = "close"
    await response(scope, receive, send)


async def _serve_named_origin(
    app: ASGIApp, scope: Scope, receive: Receive, send: Send, origin: str
) -> None:
    """Answer a page of an origin that the settings name, with the headers that browsers need."""
    cors = {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}
    if scope["type"] == "http" and scope["method"] == "OPTIONS":
        preflight = {
            "Access-Control-Allow-Methods": _ALLOWED_METHODS,
            "Access-Control-Allow-Headers": _ALLOWED_HEADERS,
            "Access-Control-Max-Age": _PREFLIGHT_SECONDS,
        }
        await Response(status_code=204, headers={**cors, **preflight})(scope, receive, send)
        return

    async def send_with_cors(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(cors)
        await send(message)

    await app(scope, receive, send_with_cors)


# The page of agent sessions; a pairing code is in the fragment of its address, which no request
# carries.
FIRST_PAGE = "/agents.html"


def _make_page_route(hub: HubContext) -> Route:
    """Return the route of the files of the pages, which are public; it comes last."""

    def get_file(request: Request) -> Response:
        path = request.url.path
        file = hub.pages.read(FIRST_PAGE if path == "/" else path)
        if file is None:
            return PlainTextResponse("There is no such page.", 404, SECURITY_HEADERS)
        content, kind = file
        return Response(content, headers={**SECURITY_HEADERS, "Content-Type": kind})

    return Route("/{path:path}", get_file, methods=["GET"])
