"""MCP over streamable HTTP: on loopback, under our own name, for whoever has the token."""

import hmac
import secrets
import socket
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

HOST = "127.0.0.1"
PATH = "/mcp"
_SECRET_BYTES = 32
# Answers under way when it ends are not waited for longer.
POLITE_SECONDS = 1


class HttpDoor:
    """One port; taken when it is made."""

    def __init__(self, port: int, token: str = "") -> None:
        """Take the port, 0 for any; raises OSError if it is taken. Without a token, one is made."""
        self._socket = socket.create_server((HOST, port))
        self._port: int = self._socket.getsockname()[1]
        self.token = token or secrets.token_urlsafe(_SECRET_BYTES)
        self.address = f"http://{HOST}:{self._port}{PATH}"

    def serve(self, server: Server[Any]) -> None:
        """Answer until a signal comes."""
        names = [f"{name}:{self._port}" for name in (HOST, "localhost")]
        app = server.streamable_http_app(
            streamable_http_path=PATH,
            transport_security=TransportSecuritySettings(
                allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names]
            ),
        )
        config = uvicorn.Config(
            WithToken(app, self.token),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=POLITE_SECONDS,
        )
        uvicorn.Server(config).run(sockets=[self._socket])


class WithToken:
    """Lets through who says ``Authorization: Bearer`` and the token, and nobody else."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._wanted = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] != "http" or self._is_known(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        refusal = JSONResponse(
            {"error": "Send the token that codekernel mcp printed: Authorization: Bearer ..."},
            status_code=401,
            headers={"WWW-Authenticate": "Bearer"},
        )
        await refusal(scope, receive, send)

    def _is_known(self, headers: Headers) -> bool:
        given = headers.getlist("authorization")
        return len(given) == 1 and hmac.compare_digest(given[0].encode(), self._wanted)
