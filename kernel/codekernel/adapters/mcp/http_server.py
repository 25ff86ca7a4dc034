"""MCP over streamable HTTP on loopback with a bearer token.

Our listener accepts connections and hands those whose first request has the token to uvicorn.
"""

import asyncio
import hmac
import logging
import secrets
import socket
import threading
from functools import partial
from http import HTTPStatus
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from codekernel.transport.http_messages import RequestHead, render_response
from codekernel.transport.listener import HttpListener, open_listening_socket

HOST = "127.0.0.1"

MCP_PATH = "/mcp"

_SECRET_BYTES = 32

# Answers under way when it ends are not waited for longer.
SHUTDOWN_TIMEOUT_SECONDS = 1

_UNAUTHORIZED_BODY = (
    b'{"error":"Send the token that codekernel mcp printed: Authorization: Bearer ..."}'
)


class McpHttpServer:
    """One port; taken when it is made."""

    def __init__(self, port: int, token: str = "") -> None:
        """Take the port, 0 for any; raises OSError if it is taken. Without a token, one is made."""
        self._socket = open_listening_socket(HOST, port)
        self._port: int = self._socket.getsockname()[1]
        self.token = token or secrets.token_urlsafe(_SECRET_BYTES)
        self.url = f"http://{HOST}:{self._port}{MCP_PATH}"

    def serve(self, server: Server[Any]) -> None:
        """Answer until a signal comes."""
        # It warns of each request that it does not understand, and of each that it cannot finish.
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        names = [f"{name}:{self._port}" for name in (HOST, "localhost")]
        app = server.streamable_http_app(
            streamable_http_path=MCP_PATH,
            transport_security=TransportSecuritySettings(
                allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names]
            ),
        )
        config = uvicorn.Config(
            TokenMiddleware(app, self.token),
            http=H11Protocol,
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_SECONDS,
        )
        _TokenGuardedServer(config, self._socket, self.token).run(sockets=[])


class _TokenGuardedServer(uvicorn.Server):
    """Serves the connections that our listener has admitted."""

    def __init__(self, config: uvicorn.Config, listening: socket.socket, token: str) -> None:
        super().__init__(config)
        self._expected_header = f"Bearer {token}"
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listener = HttpListener(
            listening, self._reject_request, self._adopt_connection, "mcp", takes_body=True
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept once the application can answer."""
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._listener.run, name="mcp:listen", daemon=True).start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting before the rest ends."""
        self._listener.stop()
        await super().shutdown(sockets)

    def _reject_request(self, head: RequestHead) -> bytes | None:
        given = (head.get_header("Authorization") or "").encode()
        if hmac.compare_digest(given, self._expected_header.encode()):
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
        except (OSError, RuntimeError):  # it is gone, or the loop has ended
            admitted.close()

    async def _connect(self, admitted: socket.socket, received: bytes) -> None:
        factory = partial(
            _AdmittedProtocol, self.config, self.server_state, self.lifespan.state, received
        )
        await asyncio.get_running_loop().connect_accepted_socket(factory, admitted)


class _AdmittedProtocol(H11Protocol):
    """A connection of which something was read already."""

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
        """Begin with what was read."""
        super().connection_made(transport)
        self.data_received(self._received)


class TokenMiddleware:
    """Lets through who says ``Authorization: Bearer`` and the token, and nobody else.

    The listener has seen the first request of a connection; others may follow.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected_header = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] == "lifespan" or (
            scope["type"] == "http" and self._is_authorized(Headers(scope=scope))
        ):
            await self._app(scope, receive, send)
            return
        refusal = JSONResponse(
            {"error": "Send the token that codekernel mcp printed: Authorization: Bearer ..."},
            status_code=401,
            headers={"WWW-Authenticate": "Bearer", "Connection": "close"},
        )
        await refusal(scope, receive, send)

    def _is_authorized(self, headers: Headers) -> bool:
        given = headers.getlist("authorization")
        return len(given) == 1 and hmac.compare_digest(given[0].encode(), self._expected_header)
