"""Who is of this machine, and who has the token: for every port of document 002."""

import hmac
import ipaddress
import secrets
from http import HTTPStatus
from urllib.parse import parse_qs

from kernel.transport.http_head import RequestHead
from kernel.transport.http_response import render_text

LOOPBACK, EVERYWHERE = "127.0.0.1", "0.0.0.0"  # noqa: S104 - only where a person asks for it
_SECRET_BYTES = 32
_BEARER = "Bearer "


def new_token() -> str:
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


class Guard:
    """Lets in who has the token and is no web page of somebody else's.

    A page cannot send a header of its own, and always says where it is from; a name that it made
    point at this machine stands in Host.
    """

    def __init__(self, port: int, token: str, *, anywhere: bool = False) -> None:
        self._token = token
        self._anywhere = anywhere
        self._names = {f"{name}:{port}" for name in (LOOPBACK, "localhost", "[::1]")}

    def refusal(self, head: RequestHead) -> bytes | None:
        """Why not; None lets it in."""
        if not self._knows_host(head) or not self._knows_origin(head):
            return render_text(HTTPStatus.FORBIDDEN, "Only programs of this machine may ask this.")
        if not self._has_token(head):
            return render_text(
                HTTPStatus.UNAUTHORIZED,
                "Send the token: Authorization: Bearer ..., or token=... in the address.",
            )
        return None

    def _knows_host(self, head: RequestHead) -> bool:
        return self._anywhere or head.value("Host") in self._names

    def _knows_origin(self, head: RequestHead) -> bool:
        given = head.values("Origin")
        return not given or (len(given) == 1 and given[0].partition("://")[2] in self._names)

    def _has_token(self, head: RequestHead) -> bool:
        headers = head.values("Authorization")
        if len(headers) > 1:
            return False
        asked = parse_qs(head.query).get("token", [""])
        header = headers[0] if headers else ""
        given = header.removeprefix(_BEARER) if header.startswith(_BEARER) else asked[0]
        return hmac.compare_digest(given.encode(errors="replace"), self._token.encode())
