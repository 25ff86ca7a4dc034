"""A WebSocket port with a token guard.

Checks Host, Origin and bearer token, then runs a handler per connection on a thread.
"""

import hmac
import ipaddress
import secrets
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qs

from websockets.sync.connection import Connection

from codekernel.adapters.websocket_server import WebSocketServer
from codekernel.transport.http_messages import RequestHead, render_text
from codekernel.transport.listener import HttpListener, open_listening_socket

LOOPBACK_HOST, ANY_HOST = "127.0.0.1", "0.0.0.0"  # noqa: S104 - only where a person asks for it

_SECRET_BYTES = 32

_BEARER_PREFIX = "Bearer "


def make_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(_SECRET_BYTES)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by a name that nobody else can give an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class TokenGuard:
    """Lets in who has the token and is no web page of somebody else's.

    A page cannot send a header of its own, and always says where it is from; a name that it made
    point at this machine stands in Host.
    """

    def __init__(self, port: int, token: str, *, allow_remote: bool = False) -> None:
        self._token = token
        self._allow_remote = allow_remote
        self._known_hosts = {f"{name}:{port}" for name in (LOOPBACK_HOST, "localhost", "[::1]")}

    def reject_request(self, head: RequestHead) -> bytes | None:
        """Why not; None lets it in."""
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
        if len(headers) > 1:
            return False
        asked = parse_qs(head.query).get("token", [""])
        header = headers[0] if headers else ""
        given = (
            header.removeprefix(_BEARER_PREFIX) if header.startswith(_BEARER_PREFIX) else asked[0]
        )
        return hmac.compare_digest(given.encode(errors="replace"), self._token.encode())


ConnectionHandler = Callable[[Connection], None]


@dataclass(frozen=True, slots=True)
class PortOptions:
    """Which port: 0 for any; with which token: a new one if there is none; for whom."""

    port: int = 0
    token: str = ""
    allow_remote: bool = False


class WebSocketPort:
    """Taken when it is made, serves when it is told to."""

    def __init__(self, options: PortOptions, handler: ConnectionHandler) -> None:
        """Raises OSError if the port is taken."""
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
        """What a program on this machine dials, without the token."""
        return f"ws://{LOOPBACK_HOST}:{self.port_number}"

    def serve(self) -> None:
        """Serve until ``stop``, which another thread calls."""
        self._listener.run()

    def start(self) -> None:
        """Serve on a thread of its own."""
        threading.Thread(target=self.serve, name="ide:port", daemon=True).start()

    def stop(self) -> None:
        """Close every connection, and wait a moment for the others to agree."""
        self._listener.stop()
        self._websockets.close_all()

    def _serve(self, sock: socket.socket, head: RequestHead, _: bytes) -> None:
        self._websockets.serve(sock, head, self._handler)
