"""Which names the hub may be called by, which pages may call it, how often a caller may fail.

A foreign page can reach a port of this machine by a name of its own (DNS rebinding), but then its
name is in the Host header; so only known names are answered. An IP address is no name: a page
cannot rebind it.
"""

import ipaddress
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class AddressRules:
    """``names`` are host names without a port; ``origins`` are those of the settings."""

    port: int
    names: frozenset[str]
    origins: frozenset[str]
    is_anywhere: bool

    @classmethod
    def build(
        cls, port: int, *, url: str = "", origins: Collection[str] = (), is_anywhere: bool = False
    ) -> "AddressRules":
        """Build the rules; ``url`` is the public address of a tunnel, if there is one."""
        public = urlsplit(url).netloc.lower() if url else ""
        names = {f"{name}:{port}" for name in LOOPBACK_NAMES} | ({public} if public else set())
        return cls(port, frozenset(names), frozenset(origins), is_anywhere)

    def is_known_host(self, host: str) -> bool:
        """Return whether a Host header is one of ours."""
        given = host.lower()
        return given in self.names or (self.is_anywhere and _is_ip_address(given))

    def is_known_origin(self, origin: str, host: str) -> bool:
        """Return whether a page may call: one of ours, or one of the settings."""
        return self.is_named_origin(origin) or origin.partition("://")[2].lower() == host.lower()

    def is_named_origin(self, origin: str) -> bool:
        """Return whether the settings name an origin."""
        return origin in self.origins


def _is_ip_address(host: str) -> bool:
    """Return whether a Host header names an IP address, with or without a port."""
    try:
        ipaddress.ip_address(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False
    return True


# Beyond them the address that failed longest ago is forgotten; a table without end would be a way
# to fill the memory.
MAX_ADDRESSES = 10_000


class FailureLimit:
    """At most ``max_failures`` in ``interval_seconds`` for each address."""

    def __init__(
        self,
        max_failures: int,
        interval_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_failures = max_failures
        self._interval = interval_seconds
        self._clock = clock
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def get_wait(self, address: str) -> float:
        """Return for how many seconds an address must wait; 0 if it may try."""
        with self._lock:
            times = self._failures.get(address)
            if times is None or len(times) < self._max_failures:
                return 0.0
            return max(0.0, times[0] + self._interval - self._clock())

    def note_failure(self, address: str) -> None:
        """Count a failure."""
        with self._lock:
            times = self._failures.setdefault(address, deque(maxlen=self._max_failures))
            times.append(self._clock())
            self._failures.move_to_end(address)
            while len(self._failures) > MAX_ADDRESSES:
                self._failures.popitem(last=False)
