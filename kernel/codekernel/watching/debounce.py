"""Debounce changed paths into one notification, turn a burst of many paths into a rescan.

Notify on one thread, also at the poll interval.
"""

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

# A save is several events within a few milliseconds (write a temporary file, flush, rename); this
# much silence says that it is over and is still a fifth of what "found at once" may take (250 ms).
DEBOUNCE_SECONDS = 0.05

# Something that writes without pause must not keep the news back for ever.
MAX_DEBOUNCE_SECONDS = 0.5

# A person's save touches a few files, a format-on-save of a project some dozens. Beyond this, one
# walk of the repository is cheaper than asking for each path, and nothing need be remembered.
MAX_CHANGED_PATHS = 300


@dataclass(frozen=True, slots=True)
class WatchTimings:
    """Intervals of a watcher, in seconds; tests shorten them."""

    # How often to check that the root is the same folder, where the system does not report that.
    root_check: float = 2.0
    # How long after a failure to try again: someone may have raised the limit, or closed an editor.
    retry: float = 300.0
    # In a storm (a checkout, an unpacking) rescans are at least this far apart.
    min_rescan: float = 1.0
    # A scan of a hundred thousand unchanged files may take seconds.
    poll: float = 5.0


DEFAULT_TIMINGS = WatchTimings()


@dataclass(frozen=True, slots=True)
class ChangedPaths:
    """What to look at again.

    ``paths`` are relative to the root, with ``/``, undecodable bytes as surrogates: files or
    folders, present or gone. A folder stands for all that is in it. Empty if ``needs_rescan``.
    """

    paths: frozenset[str]
    needs_rescan: bool
    is_guard_changed: bool = False  # something in a guarded folder, outside the root


RESCAN = ChangedPaths(paths=frozenset(), needs_rescan=True)

GUARD_CHANGED = ChangedPaths(paths=frozenset(), needs_rescan=False, is_guard_changed=True)


class Debouncer:
    """Collects paths until no more come for a moment."""

    def __init__(self, min_rescan_interval: float = DEFAULT_TIMINGS.min_rescan) -> None:
        self._min_rescan_interval = min_rescan_interval
        self._paths: set[str] = set()
        self._needs_rescan = False
        self._first_at: float | None = None
        self._last_at = 0.0
        self._last_rescan_at = float("-inf")

    def add(self, paths: Collection[str], now: float, *, needs_rescan: bool = False) -> None:
        """Add paths that changed ``now``; ``needs_rescan`` if any other path may have too."""
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
        """Return when ``take_due`` has something, if no more comes."""
        if self._first_at is None:
            return None
        due = min(self._last_at + DEBOUNCE_SECONDS, self._first_at + MAX_DEBOUNCE_SECONDS)
        next_rescan = self._last_rescan_at + self._min_rescan_interval
        return max(due, next_rescan) if self._needs_rescan else due

    def take_due(self, now: float) -> ChangedPaths | None:
        """Return what is due ``now``, merged; None if nothing is."""
        due = self.get_due_time()
        if due is None or now < due:
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
    """Debounces what any thread reports and calls ``notify``, one call at a time."""

    def __init__(
        self, notify: Callable[[ChangedPaths], None], timings: WatchTimings = DEFAULT_TIMINGS
    ) -> None:
        self._notify = notify
        self._debouncer = Debouncer(timings.min_rescan)
        self._poll_interval = timings.poll
        self._next_poll: float | None = None
        self._is_closed = False
        self._condition = threading.Condition()
        self.thread = threading.Thread(target=self._run, name="changes", daemon=True)

    def report(self, paths: Collection[str], *, needs_rescan: bool = False) -> None:
        """Report that these paths changed, or that anything may have."""
        with self._condition:
            is_idle = self._debouncer.get_due_time() is None
            self._debouncer.add(paths, time.monotonic(), needs_rescan=needs_rescan)
            if is_idle:  # else the thread already waits for no later moment
                self._condition.notify()

    def set_polling(self, *, enabled: bool) -> None:
        """Also notify a rescan every few seconds, or no longer."""
        with self._condition:
            if enabled and self._next_poll is None:
                self._next_poll = time.monotonic() + self._poll_interval
            elif not enabled:
                self._next_poll = None
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
                times = [self._debouncer.get_due_time(), self._next_poll]
                known = [each for each in times if each is not None]
                self._condition.wait(min(known) - now if known else None)
        return None

    def _postpone_poll(self) -> None:
        # The interval is between the end of one scan and the next, if ``notify`` scans.
        with self._condition:
            if self._next_poll is not None:
                self._next_poll = time.monotonic() + self._poll_interval
