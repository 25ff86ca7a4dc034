"""Limit how often an address may fail to sign in or to pair."""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

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
