"""Who may come in: a browser of this machine that was given the address by the person.

The address carries a token, which is good once and is exchanged for a cookie. Another page of the
same browser has neither: its Origin differs, whatever name it has made point at 127.0.0.1 stands
in Host, and SameSite keeps the cookie from what it asks for. Cookies are shared by all ports of a
host, so this one is named after ours.
"""

import hmac
import secrets
import threading
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie

HOST = "127.0.0.1"
_SECRET_BYTES = 32


class Access:
    """The secrets of one run."""

    def __init__(self, port: int) -> None:
        self.authority = f"{HOST}:{port}"
        self.origin = f"http://{self.authority}"
        self._cookie_name = f"codekernel-{port}"
        self._cookie = secrets.token_urlsafe(_SECRET_BYTES)
        self._token = secrets.token_urlsafe(_SECRET_BYTES)
        self._is_spent = False
        self._lock = threading.Lock()

    @property
    def address(self) -> str:
        """What the person opens."""
        return f"{self.origin}/?token={self._token}"

    def knows_host(self, headers: Mapping[str, str]) -> bool:
        """Whether the browser asked for us by our own name, and no other page made it do so."""
        return headers.get("Host") == self.authority and headers.get("Origin") in {
            None,
            self.origin,
        }

    def is_own_page(self, headers: Mapping[str, str]) -> bool:
        """Whether one of our pages asks; browsers always say so when they open a WebSocket."""
        return headers.get("Origin") == self.origin

    def has_cookie(self, headers: Mapping[str, str]) -> bool:
        """Whether this browser has been let in."""
        try:
            found = SimpleCookie(headers.get("Cookie", "")).get(self._cookie_name)
        except CookieError:
            return False
        return found is not None and _same(found.value, self._cookie)

    def exchange(self, token: str) -> str | None:
        """The cookie for a token, as a Set-Cookie header; once."""
        with self._lock:
            if self._is_spent or not _same(token, self._token):
                return None
            self._is_spent = True
        return f"{self._cookie_name}={self._cookie}; Path=/; HttpOnly; SameSite=Strict"


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), wanted.encode())
