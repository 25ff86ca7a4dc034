"""How far each changed file is, told seldom enough to be read and never backwards.

While files are under way something is said at least every two seconds: a front end that hears
nothing for longer shows a bar that stands still, and a person who thinks the kernel has hung.
"""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kernel.domain.cancel import CancelToken

Report = Callable[[str, str, float], None]

EMBEDDING, DONE = "embedding", "done"

# The shares of a file's way that the front end's progress bar expects.
CUT_SHARE = 0.03
EMBEDDED_SHARE = 0.96
# A step is told at the ends of the way, when it is large, or when nothing was told for a while.
BEGINNING, END = 0.03, 0.99
LARGE_STEP = 0.15
QUIET_SECONDS = 1.0
# With the second of quiet before it, a reminder comes after one and a half seconds at the latest.
REMINDER_INTERVAL_SECONDS = 0.5


@dataclass(slots=True)
class _Way:
    told: float
    reached: float


class Progress:
    """The files under way; any thread may report."""

    def __init__(self, report: Report, clock: Callable[[], float] = time.monotonic) -> None:
        self._report = report
        self._clock = clock
        self._ways: dict[str, _Way] = {}
        self._told_at = clock()
        self._latest = ""  # the file that something was said of last
        self._lock = threading.Lock()
        # Held while something is told, so that nothing is said of a file after its end.
        self._order = threading.RLock()
        self._begun = threading.Event()

    @property
    def under_way(self) -> int:
        """How many files have begun and not ended."""
        return len(self._ways)

    def snapshot(self) -> list[tuple[str, float]]:
        """Each file under way and how far it is, for a window that has just been opened."""
        with self._lock:
            return [(path, way.reached) for path, way in self._ways.items()]

    def begin(self, paths: Iterable[str]) -> bool:
        """Files that have changed; one under way is not begun twice. False if there were none."""
        any_fresh = False
        for path in paths:
            with self._order:
                with self._lock:
                    fresh = path not in self._ways
                    if fresh:
                        self._ways[path] = _Way(0.0, 0.0)
                if fresh:
                    any_fresh = True
                    self._tell(path, EMBEDDING, 0.0)
        if any_fresh:
            self._begun.set()
        return any_fresh

    def cut(self, path: str) -> None:
        """A file has been read and cut; its words can be found."""
        self._advance(path, CUT_SHARE)

    def embedded(self, path: str, share: float) -> None:
        """So large a share of the file's texts, over all configs, has a vector."""
        self._advance(path, CUT_SHARE + EMBEDDED_SHARE * share)

    def end(self, path: str) -> None:
        """Nothing is left to do for a file; said once."""
        with self._order:
            with self._lock:
                known = self._ways.pop(path, None)
            if known:
                self._tell(path, DONE, 1.0)

    def remind(self) -> None:
        """Say again how far a file is, if nothing was said for a while."""
        with self._order:
            with self._lock:
                quiet = self._clock() - self._told_at >= QUIET_SECONDS
                path = self._latest if self._latest in self._ways else next(iter(self._ways), "")
                if not quiet or not path:
                    return
                way = self._ways[path]
                way.told = value = way.reached
            self._tell(path, EMBEDDING, value)

    def keep_reminding(self, cancel: CancelToken, is_paused: Callable[[], bool]) -> None:
        """Remind for as long as files are under way and not meant to stand still."""
        while not cancel.cancelled:
            self._begun.wait()
            while self._ways and not cancel.wait(REMINDER_INTERVAL_SECONDS):
                if not is_paused():
                    self.remind()
            with self._lock:
                if not self._ways and not cancel.cancelled:
                    self._begun.clear()

    def stop_reminding(self) -> None:
        """Let ``keep_reminding`` see that it is cancelled."""
        self._begun.set()

    def _advance(self, path: str, value: float) -> None:
        with self._order:
            with self._lock:
                way = self._ways.get(path)
                if way is None or value <= way.reached:
                    return
                way.reached = value
                worth = (
                    value < BEGINNING
                    or value > END
                    or value - way.told >= LARGE_STEP
                    or self._clock() - self._told_at >= QUIET_SECONDS
                )
                if worth:
                    way.told = value
            if worth:
                self._tell(path, EMBEDDING, value)

    def _tell(self, path: str, status: str, value: float) -> None:
        self._told_at, self._latest = self._clock(), path
        self._report(path, status, value)
