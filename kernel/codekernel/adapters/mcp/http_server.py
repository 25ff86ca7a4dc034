"""MCP over streamable HTTP on loopback with a bearer token.

Our listener accepts connections and hands those whose first request has the token to uvicorn.
"""

import asyncio
import logging
import socket
import threading
from functools import partial
from http import HTTPStatus
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from codekernel.adapters.bearer_token import has_bearer_token, make_token
from codekernel.transport.http_messages import RequestHead, render_response
from codekernel.transport.listener import HttpListener, open_listening_socket

HOST = "127.0.0.1"

MCP_PATH = "/mcp"

# Answers in progress at the end are not waited for longer.
SHUTDOWN_TIMEOUT_SECONDS = 1

_UNAUTHORIZED_BODY = (
    b'{"error":"Send the token that codekernel mcp printed: Authorization: Bearer ..."}'
)


class McpHttpServer:
    """One port, bound when it is constructed."""

    def __init__(self, port: int, token: str = "") -> None:
        """Bind the port, 0 for any; an empty token makes a new one. Raises OSError."""
        self._socket = open_listening_socket(HOST, port)
        self._port: int = self._socket.getsockname()[1]
        self.token = token or make_token()
        self.url = f"http://{HOST}:{self._port}{MCP_PATH}"

    def serve(self, server: Server[Any]) -> None:
        """Answer until a signal comes."""
        # uvicorn warns of each malformed and each unfinished request.
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        names = [f"{name}:{self._port}" for name in (HOST, "localhost")]
        app = server.streamable_http_app(
            streamable_http_path=MCP_PATH,
            transport_security=TransportSecuritySettings(
                allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names]
            ),
        )
        config = uvicorn.Config(
            _require_token(app, self.token),
            http=H11Protocol,
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_SECONDS,
        )
        _TokenGuardedServer(config, self._socket, self.token).run(sockets=[])


class _TokenGuardedServer(uvicorn.Server):
    """Serves the connections whose first request had the token."""

    def __init__(self, config: uvicorn.Config, listening: socket.socket, token: str) -> None:
        super().__init__(config)
        self._token = token
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listener = HttpListener(
            listening, self._reject_request, self._adopt_connection, "mcp", takes_body=True
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept once the application can answer."""
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._listener.run, name="mcp:listen", daemon=True).start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, then shut down."""
        self._listener.stop()
        await super().shutdown(sockets)

    def _reject_request(self, head: RequestHead) -> bytes | None:
        if has_bearer_token(head.get_header_values("Authorization"), self._token):
            return None
        headers = {"WWW-Authenticate": "Bearer", "Cache-Control": "no-store"}
        return render_response(
            HTTPStatus.UNAUTHORIZED, _UNAUTHORIZED_BODY, "application/json", headers
        )

    def _adopt_connection(self, sock: socket.socket, head: RequestHead, body: bytes) -> None:
        if self._loop is None:
            return
        sock.settimeout(0)
        admitted = socket.socket(fileno=sock.detach())
        try:
            connect = self._connect(admitted, head.render() + body)
            asyncio.run_coroutine_threadsafe(connect, self._loop).result()
        except (OSError, RuntimeError):  # the client is gone, or the loop has ended
            admitted.close()

    async def _connect(self, admitted: socket.socket, received: bytes) -> None:
        factory = partial(
            _AdmittedProtocol, self.config, self.server_state, self.lifespan.state, received
        )
        await asyncio.get_running_loop().connect_accepted_socket(factory, admitted)


class _AdmittedProtocol(H11Protocol):
    """A connection whose first request was read already."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: Any,
        app_state: dict[str, Any],
        received: bytes,
    ) -> None:
        super().__init__(config, server_state, app_state)
        self._received = received

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Process the bytes that were read."""
        super().connection_made(transport)
        self.data_received(self._received)


def _require_token(app: ASGIApp, token: str) -> ASGIApp:
    """Reject requests without the token; the listener checks only the first of a connection."""

    async def check(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or (
            scope["type"] == "http"
            and has_bearer_token(Headers(scope=scope).getlist("authorization"), token)
        ):
            await app(scope, receive, send)
            return
        headers = {"WWW-Authenticate": "Bearer", "Connection": "close"}
        refusal = Response(_UNAUTHORIZED_BODY, 401, headers, "application/json")
        await refusal(scope, receive, send)

    return check
