"""Debounce changed paths into one notification, turn a burst of many paths into a rescan.

Notify on one thread, also at the poll interval.
"""

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from codekernel.watching.polling import MAX_POLL_INTERVAL_SECONDS, POLL_INTERVAL_SECONDS

# A save is several events within a few milliseconds (write a temporary file, flush, rename); this
# much silence says that it is over and is still a fifth of what "found at once" may take (250 ms).
DEBOUNCE_SECONDS = 0.05

# Something that writes without pause must not keep the news back for ever.
MAX_DEBOUNCE_SECONDS = 0.5

# A person's save touches a few files, a format-on-save of a project some dozens. Beyond this, one
# walk of the repository is cheaper than asking for each path, and nothing need be remembered.
MAX_CHANGED_PATHS = 300

# In a storm (a checkout, an unpacking) the sweeps are at least this far apart.
MIN_RESCAN_INTERVAL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ChangedPaths:
    """What to look at again.

    ``paths`` are relative to the root, with ``/``, undecodable bytes as surrogates: files or
    folders, there or gone. A folder stands for all that is in it. Empty when ``sweep``.
    """

    paths: frozenset[str]
    needs_rescan: bool


RESCAN = ChangedPaths(paths=frozenset(), needs_rescan=True)


class Debouncer:
    """Gathers paths, and says from when on they are to be taken."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._needs_rescan = False
        self._first_at: float | None = None
        self._last_at = 0.0
        self._last_rescan_at = float("-inf")

    def add(self, paths: Collection[str], now: float, *, needs_rescan: bool = False) -> None:
        """Remember that these paths changed ``now``, or, to ``sweep``, that anything may have."""
        if not (paths or needs_rescan):
            return
        self._paths.update(paths)
        self._needs_rescan = (
            self._needs_rescan or needs_rescan or len(self._paths) > MAX_CHANGED_PATHS
        )
        if self._needs_rescan:
            self._paths.clear()
        if self._first_at is None:
            self._first_at = now
        self._last_at = now

    def get_due_time(self) -> float | None:
        """The moment from which on ``take`` has something, if no more comes."""
        if self._first_at is None:
            return None
        moment = min(self._last_at + DEBOUNCE_SECONDS, self._first_at + MAX_DEBOUNCE_SECONDS)
        return (
            max(moment, self._last_rescan_at + MIN_RESCAN_INTERVAL_SECONDS)
            if self._needs_rescan
            else moment
        )

    def take_due(self, now: float) -> ChangedPaths | None:
        """What is due ``now``, merged; None if nothing is."""
        moment = self.get_due_time()
        if moment is None or now < moment:
            return None
        changes = (
            RESCAN
            if self._needs_rescan
            else ChangedPaths(frozenset(self._paths), needs_rescan=False)
        )
        if self._needs_rescan:
            self._last_rescan_at = now
        self._paths.clear()
        self._needs_rescan = False
        self._first_at = None
        return changes


class ChangeNotifier:
    """Takes up what any thread reports and calls ``notify``, one call at a time."""

    def __init__(self, notify: Callable[[ChangedPaths], None]) -> None:
        self._notify = notify
        self._debouncer = Debouncer()
        self._poll_interval = POLL_INTERVAL_SECONDS
        self._next_poll: float | None = None
        self._is_closed = False
        self._condition = threading.Condition()
        self.thread = threading.Thread(target=self._run, name="changes", daemon=True)

    def report(self, paths: Collection[str], *, needs_rescan: bool = False) -> None:
        """These paths changed; or anything may have."""
        with self._condition:
            idle = self._debouncer.get_due_time() is None
            self._debouncer.add(paths, time.monotonic(), needs_rescan=needs_rescan)
            if idle:  # else the thread already waits for no later moment
                self._condition.notify()

    def set_polling(self, *, enabled: bool) -> None:
        """Also sweep every few seconds, or no longer."""
        with self._condition:
            if enabled and self._next_poll is None:
                self._next_poll = time.monotonic() + self._poll_interval
            elif not enabled:
                self._next_poll = None
            self._condition.notify()

    def set_poll_interval(self, seconds: float) -> None:
        """From now on leave ``seconds`` between two polls, within reason."""
        with self._condition:
            self._poll_interval = min(
                max(seconds, POLL_INTERVAL_SECONDS), MAX_POLL_INTERVAL_SECONDS
            )
            if self._next_poll is not None:
                self._next_poll = time.monotonic() + self._poll_interval
                self._condition.notify()

    def close(self) -> None:
        """Begin no further call of ``notify``."""
        with self._condition:
            self._is_closed = True
            self._condition.notify()

    def _run(self) -> None:
        while (changes := self._wait()) is not None:
            self._notify(changes)
            if changes.needs_rescan:
                self._postpone_poll()

    def _wait(self) -> ChangedPaths | None:
        with self._condition:
            while not self._is_closed:
                now = time.monotonic()
                if self._next_poll is not None and now >= self._next_poll:
                    self._next_poll = now + self._poll_interval
                    self._debouncer.add((), now, needs_rescan=True)
                changes = self._debouncer.take_due(now)
                if changes is not None:
                    return changes
                moments = [self._debouncer.get_due_time(), self._next_poll]
                known = [moment for moment in moments if moment is not None]
                self._condition.wait(min(known) - now if known else None)
        return None

    def _postpone_poll(self) -> None:
        # The interval is between the end of one sweep and the next, if notify is what sweeps.
        with self._condition:
            if self._next_poll is not None:
                self._next_poll = time.monotonic() + self._poll_interval
