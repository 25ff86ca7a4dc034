"""Who is of this machine, and who has the token: for every port of document 002."""

import hmac
import ipaddress
import secrets
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from websockets.datastructures import Headers
from websockets.http11 import Request, Response

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

    def refusal(self, request: Request) -> Response | None:
        """Why not; None lets it in."""
        said = _said(request)
        if said is None or not self._knows_host(said) or not self._knows_origin(said):
            return _refused(HTTPStatus.FORBIDDEN, "Only programs of this machine may ask this.")
        if not self._has_token(request, said):
            return _refused(
                HTTPStatus.UNAUTHORIZED,
                "Send the token: Authorization: Bearer ..., or token=... in the address.",
            )
        return None

    def _knows_host(self, said: Mapping[str, str]) -> bool:
        return self._anywhere or said.get("Host") in self._names

    def _knows_origin(self, said: Mapping[str, str]) -> bool:
        origin = said.get("Origin")
        return origin is None or origin.partition("://")[2] in self._names

    def _has_token(self, request: Request, said: Mapping[str, str]) -> bool:
        asked = parse_qs(urlsplit(request.path).query).get("token", [""])
        header = said.get("Authorization", "")
        given = header.removeprefix(_BEARER) if header.startswith(_BEARER) else asked[0]
        return hmac.compare_digest(given.encode(errors="replace"), self._token.encode())


def _said(request: Request) -> dict[str, str] | None:
    """The headers that decide; None if one of them comes twice."""
    found = {name: request.headers.get_all(name) for name in ("Host", "Origin", "Authorization")}
    if any(len(values) > 1 for values in found.values()):
        return None
    return {name: values[0] for name, values in found.items() if values}


def _refused(status: HTTPStatus, sentence: str) -> Response:
    content = f"{sentence}\n".encode()
    headers = Headers(
        {
            "Content-Type": "text/plain; charset=utf-8",
            "Content-Length": str(len(content)),
            "Connection": "close",
        }
    )
    return Response(status.value, status.phrase, headers, content)
