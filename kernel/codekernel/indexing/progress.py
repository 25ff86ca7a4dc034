"""Track the progress of each changed file and report it.

Throttled, never backwards, and at least every two seconds while files are pending, so that a
front end never shows a bar that stands still.
"""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from codekernel.domain.concurrency import CancelToken

FileProgressCallback = Callable[[str, str, float], None]

EMBEDDING, DONE = "embedding", "done"

# The shares of a file's way that the front end's progress bar expects.
CHUNKED_SHARE = 0.03

EMBEDDED_SHARE = 0.96

# A step is told at the ends of the way, when it is large, or when nothing was told for a while.
START_SHARE, END_SHARE = 0.03, 0.99

MIN_REPORTED_STEP = 0.15

REPORT_INTERVAL_SECONDS = 1.0

# With the second of quiet before it, a reminder comes after one and a half seconds at the latest.
REMINDER_INTERVAL_SECONDS = 0.5


@dataclass(slots=True)
class _FileProgress:
    reported: float
    reached: float


class ProgressTracker:
    """The files under way; any thread may report."""

    def __init__(
        self, report: FileProgressCallback, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._report = report
        self._clock = clock
        self._files: dict[str, _FileProgress] = {}
        self._reported_at = clock()
        self._latest = ""  # the file that something was said of last
        self._lock = threading.Lock()
        # Held while something is told, so that nothing is said of a file after its end.
        self._report_lock = threading.RLock()
        self._has_pending = threading.Event()

    @property
    def pending_count(self) -> int:
        """How many files have begun and not ended."""
        return len(self._files)

    def snapshot(self) -> list[tuple[str, float]]:
        """Each file under way and how far it is, for a window that has just been opened."""
        with self._lock:
            return [(path, way.reached) for path, way in self._files.items()]

    def begin_files(self, paths: Iterable[str]) -> bool:
        """Files that have changed; one under way is not begun twice. False if there were none."""
        any_fresh = False
        for path in paths:
            with self._report_lock:
                with self._lock:
                    fresh = path not in self._files
                    if fresh:
                        self._files[path] = _FileProgress(0.0, 0.0)
                if fresh:
                    any_fresh = True
                    self._send_report(path, EMBEDDING, 0.0)
        if any_fresh:
            self._has_pending.set()
        return any_fresh

    def mark_chunked(self, path: str) -> None:
        """A file has been read and cut; its words can be found."""
        self._advance(path, CHUNKED_SHARE)

    def mark_embedded(self, path: str, share: float) -> None:
        """So large a share of the file's texts, over all configs, has a vector."""
        self._advance(path, CHUNKED_SHARE + EMBEDDED_SHARE * share)

    def finish_file(self, path: str) -> None:
        """Nothing is left to do for a file; said once."""
        with self._report_lock:
            with self._lock:
                known = self._files.pop(path, None)
            if known:
                self._send_report(path, DONE, 1.0)

    def send_reminder(self) -> None:
        """Say again how far a file is, if nothing was said for a while."""
        with self._report_lock:
            with self._lock:
                quiet = self._clock() - self._reported_at >= REPORT_INTERVAL_SECONDS
                path = self._latest if self._latest in self._files else next(iter(self._files), "")
                if not quiet or not path:
                    return
                way = self._files[path]
                way.reported = value = way.reached
            self._send_report(path, EMBEDDING, value)

    def run_reminders(self, cancel: CancelToken, is_paused: Callable[[], bool]) -> None:
        """Remind for as long as files are under way and not meant to stand still."""
        while not cancel.is_cancelled:
            self._has_pending.wait()
            while self._files and not cancel.wait(REMINDER_INTERVAL_SECONDS):
                if not is_paused():
                    self.send_reminder()
            with self._lock:
                if not self._files and not cancel.is_cancelled:
                    self._has_pending.clear()

    def stop_reminders(self) -> None:
        """Let ``keep_reminding`` see that it is cancelled."""
        self._has_pending.set()

    def _advance(self, path: str, value: float) -> None:
        with self._report_lock:
            with self._lock:
                way = self._files.get(path)
                if way is None or value <= way.reached:
                    return
                way.reached = value
                worth = (
                    value < START_SHARE
                    or value > END_SHARE
                    or value - way.reported >= MIN_REPORTED_STEP
                    or self._clock() - self._reported_at >= REPORT_INTERVAL_SECONDS
                )
                if worth:
                    way.reported = value
            if worth:
                self._send_report(path, EMBEDDING, value)

    def _send_report(self, path: str, status: str, value: float) -> None:
        self._reported_at, self._latest = self._clock(), path
        self._report(path, status, value)
