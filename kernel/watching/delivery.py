"""The thread that tells of changes: when a burst is over, and every few seconds while polling."""

import threading
import time
from collections.abc import Callable, Collection

from kernel.watching.debounce import Changes, Debouncer
from kernel.watching.polling import POLL_SECONDS, SLOWEST_POLL_SECONDS


class Delivery:
    """Takes up what any thread reports and calls ``notify``, one call at a time."""

    def __init__(self, notify: Callable[[Changes], None]) -> None:
        self._notify = notify
        self._debouncer = Debouncer()
        self._interval = POLL_SECONDS
        self._next_poll: float | None = None
        self._closed = False
        self._changed = threading.Condition()
        self.thread = threading.Thread(target=self._run, name="changes", daemon=True)

    def report(self, paths: Collection[str], *, sweep: bool = False) -> None:
        """These paths changed; or anything may have."""
        with self._changed:
            idle = self._debouncer.due() is None
            self._debouncer.add(paths, time.monotonic(), sweep=sweep)
            if idle:  # else the thread already waits for no later moment
                self._changed.notify()

    def poll(self, *, on: bool) -> None:
        """Also sweep every few seconds, or no longer."""
        with self._changed:
            if on and self._next_poll is None:
                self._next_poll = time.monotonic() + self._interval
            elif not on:
                self._next_poll = None
            self._changed.notify()

    def slow_down(self, seconds: float) -> None:
        """From now on leave ``seconds`` between two polls, within reason."""
        with self._changed:
            self._interval = min(max(seconds, POLL_SECONDS), SLOWEST_POLL_SECONDS)
            if self._next_poll is not None:
                self._next_poll = time.monotonic() + self._interval
                self._changed.notify()

    def close(self) -> None:
        """Begin no further call of ``notify``."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _run(self) -> None:
        while (changes := self._wait()) is not None:
            self._notify(changes)
            if changes.sweep:
                self._put_off_poll()

    def _wait(self) -> Changes | None:
        with self._changed:
            while not self._closed:
                now = time.monotonic()
                if self._next_poll is not None and now >= self._next_poll:
                    self._next_poll = now + self._interval
                    self._debouncer.add((), now, sweep=True)
                changes = self._debouncer.take(now)
                if changes is not None:
                    return changes
                moments = [self._debouncer.due(), self._next_poll]
                known = [moment for moment in moments if moment is not None]
                self._changed.wait(min(known) - now if known else None)
        return None

    def _put_off_poll(self) -> None:
        # The interval is between the end of one sweep and the next, if notify is what sweeps.
        with self._changed:
            if self._next_poll is not None:
                self._next_poll = time.monotonic() + self._interval
