"""Who may come in: a browser of this machine that was given an address by the person.

The address carries a token, which is good once. It is exchanged for two things:

- a *page secret*, which opens WebSockets. The page keeps it in ``localStorage``, which belongs to
  one scheme, host **and port**, and sends it inside of the handshake, never in an address.
- a *cookie*, which shows the pages, and nothing else. Cookies are shared by all ports of a host:
  every other server on 127.0.0.1 that the person visits is sent ours, and can overwrite it. Whoever
  has it gets files that are public anyway; a page that lost it gets it again for the page secret.

Another page of the same browser has neither: its Origin differs, and whatever name it has made
point at 127.0.0.1 stands in Host.
"""

import hmac
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from kernel.transport.http_head import RequestHead

HOST = "127.0.0.1"
# The subprotocol that is agreed on; the page secret stands behind it in what the page offers.
SUBPROTOCOL = "codekernel"
# For a browser that we start ourselves; a cold start of one takes seconds.
BROWSER_TOKEN_SECONDS = 60.0
_SECRET_BYTES = 32
_BEARER = "Bearer "


@dataclass(frozen=True, slots=True)
class _Grant:
    """A token that was given out: until when it is good, and whether only for our own account."""

    token: str
    expires_at: float | None = None
    own_account_only: bool = False


class Access:
    """The secrets of one run."""

    def __init__(self, port: int) -> None:
        self.authority = f"{HOST}:{port}"
        self.origin = f"http://{self.authority}"
        self.page_secret = _new_secret()
        self._cookie_name = f"codekernel-{port}"
        self._cookie = _new_secret()
        self._printed = _Grant(_new_secret())
        self._grants = [self._printed]
        self._lock = threading.Lock()
        # Set once a browser was let in.
        self.entered = threading.Event()

    @property
    def address(self) -> str:
        """What the person opens."""
        return self._address_of(self._printed)

    def browser_address(self, *, own_account_only: bool) -> str:
        """Return an address for a browser that is started now; it is good for a minute and once.

        ``own_account_only`` if other accounts may come to know it: theirs are then refused.
        """
        expires_at = time.monotonic() + BROWSER_TOKEN_SECONDS
        grant = _Grant(_new_secret(), expires_at, own_account_only)
        with self._lock:
            self._grants.append(grant)
        return self._address_of(grant)

    def is_known_host(self, head: RequestHead) -> bool:
        """Whether the browser asked for us by our own name, and no other page made it do so."""
        return head.value("Host") == self.authority and head.values("Origin") in ([], [self.origin])

    def is_own_page(self, head: RequestHead) -> bool:
        """Whether one of our pages asks; browsers always say so when they open a WebSocket."""
        return head.values("Origin") == [self.origin]

    def has_cookie(self, head: RequestHead) -> bool:
        """Whether this browser may see pages: our cookie is among whatever else it sends."""
        pairs = (pair for header in head.values("Cookie") for pair in header.split(";"))
        split = (pair.strip().partition("=") for pair in pairs)
        return any(
            _is_same(value.strip().strip('"'), self._cookie)
            for name, _, value in split
            if name.strip() == self._cookie_name
        )

    def has_page_secret(self, head: RequestHead) -> bool:
        """Whether a page that was let in opens this WebSocket."""
        offered = (
            each for header in head.values("Sec-WebSocket-Protocol") for each in _list(header)
        )
        return any(_is_same(each, self.page_secret) for each in offered)

    def has_bearer(self, head: RequestHead) -> bool:
        """Whether a page that was let in asks for its cookie again."""
        given = head.value("Authorization") or ""
        return given.startswith(_BEARER) and _is_same(given[len(_BEARER) :], self.page_secret)

    def is_token(self, token: str) -> bool:
        """Whether a token would be exchanged now, the account aside."""
        with self._lock:
            return self._find(token) is not None

    def exchange(self, token: str, is_own_account: Callable[[], bool]) -> bool:
        """Spend a token; False if it is none, was spent, is too old, or of another account."""
        with self._lock:
            grant = self._find(token)
            if grant is None or (grant.own_account_only and not is_own_account()):
                return False
            self._grants.remove(grant)
        self.entered.set()
        return True

    @property
    def set_cookie(self) -> str:
        """The value of the Set-Cookie header."""
        return f"{self._cookie_name}={self._cookie}; Path=/; HttpOnly; SameSite=Strict"

    def _find(self, token: str) -> _Grant | None:
        now = time.monotonic()
        self._grants = [each for each in self._grants if (each.expires_at or now) >= now]
        found = [each for each in self._grants if _is_same(token, each.token)]
        return found[0] if found else None

    def _address_of(self, grant: _Grant) -> str:
        return f"{self.origin}/?token={grant.token}"


def _new_secret() -> str:
    return secrets.token_urlsafe(_SECRET_BYTES)


def _is_same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), wanted.encode())


def _list(header: str) -> list[str]:
    return [each.strip() for each in header.split(",")]
