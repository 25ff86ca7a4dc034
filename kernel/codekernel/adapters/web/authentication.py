"""Authenticate browsers.

A one-time token in the URL is exchanged for a page secret, which opens WebSockets, and a
cookie, which only shows the pages. The page secret lies in localStorage (one scheme, host and
port) and travels inside the handshake; cookies are shared by all ports of a host, so the cookie
gives access to public files only. Other pages of the same browser are refused by their Origin
and Host headers.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from codekernel.transport.http_messages import (
    RequestHead,
    has_bearer_token,
    is_same_token,
    make_token,
)

HOST = "127.0.0.1"

# The WebSocket subprotocol; the page offers its secret as a second one.
SUBPROTOCOL = "codekernel"

# For a browser that we start ourselves; a cold start takes seconds.
BROWSER_TOKEN_TTL_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class _TokenGrant:
    """A one-time token: when it expires, and whether only our own account may use it."""

    token: str
    expires_at: float | None = None
    own_account_only: bool = False


class BrowserAuth:
    """The secrets of one run of the server, and the checks of requests against them."""

    def __init__(self, port: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.port = port
        self._clock = clock
        self.authority = f"{HOST}:{port}"
        self.origin = f"http://{self.authority}"
        self.page_secret = make_token()
        self._cookie_name = f"codekernel-{port}"
        self._cookie = make_token()
        self._printed_grant = _TokenGrant(make_token())
        self._grants = [self._printed_grant]
        self._lock = threading.Lock()
        # Set once a browser has redeemed a token.
        self.entered = threading.Event()

    @property
    def entry_url(self) -> str:
        """The address that is printed for the user."""
        return self._make_url(self._printed_grant)

    def make_browser_url(self, *, own_account_only: bool) -> str:
        """Return an address for a browser that is started now; it works once, for a minute.

        ``own_account_only`` if other accounts may come to know it: theirs are then refused.
        """
        expires_at = self._clock() + BROWSER_TOKEN_TTL_SECONDS
        grant = _TokenGrant(make_token(), expires_at, own_account_only)
        with self._lock:
            self._grants.append(grant)
        return self._make_url(grant)

    def is_known_host(self, head: RequestHead) -> bool:
        """Return whether the Host and Origin headers are ours: no other page made the request."""
        return head.get_header("Host") == self.authority and head.get_header_values("Origin") in (
            [],
            [self.origin],
        )

    def is_own_page(self, head: RequestHead) -> bool:
        """Return whether the Origin is ours; browsers always send it when they open a WebSocket."""
        return head.get_header_values("Origin") == [self.origin]

    def has_cookie(self, head: RequestHead) -> bool:
        """Return whether the browser may see pages: our cookie is among those it sends."""
        pairs = (pair for header in head.get_header_values("Cookie") for pair in header.split(";"))
        split = (pair.strip().partition("=") for pair in pairs)
        return any(
            is_same_token(value.strip().strip('"'), self._cookie)
            for name, _, value in split
            if name.strip() == self._cookie_name
        )

    def has_page_secret(self, head: RequestHead) -> bool:
        """Return whether a WebSocket is opened with the page secret."""
        offered = (
            each
            for header in head.get_header_values("Sec-WebSocket-Protocol")
            for each in header.split(",")
        )
        return any(is_same_token(each.strip(), self.page_secret) for each in offered)

    def has_bearer(self, head: RequestHead) -> bool:
        """Return whether a request for a new cookie has the page secret."""
        return has_bearer_token(head.get_header_values("Authorization"), self.page_secret)

    def is_valid_token(self, token: str) -> bool:
        """Return whether a token can be redeemed now, by whichever account."""
        with self._lock:
            return self._find_grant(token) is not None

    def redeem_token(self, token: str, is_own_account: Callable[[], bool]) -> bool:
        """Use up a token; False if it is unknown, used, expired, or for another account."""
        with self._lock:
            grant = self._find_grant(token)
            if grant is None or (grant.own_account_only and not is_own_account()):
                return False
            self._grants.remove(grant)
        self.entered.set()
        return True

    @property
    def cookie_header(self) -> str:
        """The value of the Set-Cookie header."""
        return f"{self._cookie_name}={self._cookie}; Path=/; HttpOnly; SameSite=Strict"

    def _find_grant(self, token: str) -> _TokenGrant | None:
        now = self._clock()
        self._grants = [each for each in self._grants if (each.expires_at or now) >= now]
        found = [each for each in self._grants if is_same_token(token, each.token)]
        return found[0] if found else None

    def _make_url(self, grant: _TokenGrant) -> str:
        return f"{self.origin}/?token={grant.token}"
