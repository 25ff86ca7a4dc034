"""A WebSocket port that checks Host, Origin and bearer token, then runs a handler on a thread."""

import ipaddress
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qs

from websockets.sync.connection import Connection

from codekernel.adapters.bearer_token import (
    BEARER_PREFIX,
    has_bearer_token,
    is_same_token,
    make_token,
)
from codekernel.adapters.websocket_server import WebSocketServer
from codekernel.transport.http_messages import RequestHead, render_text
from codekernel.transport.listener import HttpListener, open_listening_socket

LOOPBACK_HOST, ANY_HOST = "127.0.0.1", "0.0.0.0"  # noqa: S104 - only where a person asks for it


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, by a name that DNS cannot point elsewhere."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class TokenGuard:
    """Rejects requests without the token and requests of foreign web pages.

    A page cannot set the Authorization header, and browsers always send its Origin; the Host
    header shows a foreign name that was made to point at this machine.
    """

    def __init__(self, port: int, token: str, *, allow_remote: bool = False) -> None:
        self._token = token
        self._allow_remote = allow_remote
        self._known_hosts = {f"{name}:{port}" for name in (LOOPBACK_HOST, "localhost", "[::1]")}

    def reject_request(self, head: RequestHead) -> bytes | None:
        """Return the error response; None accepts the request."""
        if not self._is_known_host(head) or not self._is_known_origin(head):
            return render_text(HTTPStatus.FORBIDDEN, "Only programs of this machine may ask this.")
        if not self._has_token(head):
            return render_text(
                HTTPStatus.UNAUTHORIZED,
                "Send the token: Authorization: Bearer ..., or token=... in the address.",
            )
        return None

    def _is_known_host(self, head: RequestHead) -> bool:
        return self._allow_remote or head.get_header("Host") in self._known_hosts

    def _is_known_origin(self, head: RequestHead) -> bool:
        given = head.get_header_values("Origin")
        return not given or (len(given) == 1 and given[0].partition("://")[2] in self._known_hosts)

    def _has_token(self, head: RequestHead) -> bool:
        headers = head.get_header_values("Authorization")
        if any(header.startswith(BEARER_PREFIX) for header in headers):
            return has_bearer_token(headers, self._token)
        in_query = parse_qs(head.query).get("token", [""])[0]
        return len(headers) <= 1 and is_same_token(in_query, self._token)


ConnectionHandler = Callable[[Connection], object]


@dataclass(frozen=True, slots=True)
class PortOptions:
    """The port, 0 for any free one; the token, empty for a new one; who may connect."""

    port: int = 0
    token: str = ""
    allow_remote: bool = False


class WebSocketPort:
    """Bound when it is constructed; accepts connections from ``serve`` or ``start`` on."""

    def __init__(self, options: PortOptions, handler: ConnectionHandler) -> None:
        """Bind the port; raises OSError if it is in use."""
        self.token = options.token or make_token()
        self._handler = handler
        self._websockets = WebSocketServer()
        listening = open_listening_socket(
            ANY_HOST if options.allow_remote else LOOPBACK_HOST, options.port
        )
        self.bound_address: tuple[str, int] = listening.getsockname()
        self.port_number = self.bound_address[1]
        guard = TokenGuard(self.port_number, self.token, allow_remote=options.allow_remote)
        self._listener = HttpListener(listening, guard.reject_request, self._serve, "ide")

    @property
    def url(self) -> str:
        """The address for programs on this machine, without the token."""
        return f"ws://{LOOPBACK_HOST}:{self.port_number}"

    def serve(self) -> None:
        """Serve until ``stop``, which another thread calls."""
        self._listener.run()

    def start(self) -> None:
        """Serve on its own thread."""
        threading.Thread(target=self.serve, name="ide:port", daemon=True).start()

    def stop(self) -> None:
        """Stop listening and close every connection, waiting a moment for the clients."""
        self._listener.stop()
        self._websockets.close_all()

    def _serve(self, sock: socket.socket, head: RequestHead, _: bytes) -> None:
        self._websockets.serve(sock, head, self._handler)
