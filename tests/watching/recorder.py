"""Record what a watcher notifies, and wait for it."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from codekernel.watching.event_source import ChangedPaths
from codekernel.watching.watcher import (
    DEFAULT_TIMINGS,
    FileWatcher,
    OpenSource,
    SystemSource,
    WatchTimings,
)

WAIT_TIMEOUT_SECONDS = 60.0


class ChangeRecorder:
    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.changes: list[ChangedPaths] = []
        self.errors: list[str] = []

    def notify(self, changes: ChangedPaths) -> None:
        with self._changed:
            self.changes.append(changes)
            self._changed.notify_all()

    def on_error(self, sentence: str) -> None:
        with self._changed:
            self.errors.append(sentence)
            self._changed.notify_all()

    def wait_until(self, holds: Callable[["ChangeRecorder"], bool]) -> None:
        with self._changed:
            done = self._changed.wait_for(lambda: holds(self), WAIT_TIMEOUT_SECONDS)
        assert done, f"notified only {self.changes} and {self.errors}"

    @property
    def rescan_count(self) -> int:
        return sum(changes.needs_rescan for changes in self.changes)

    @property
    def paths(self) -> set[str]:
        return set().union(*(changes.paths for changes in self.changes))

    def expect_paths(self, *paths: str) -> None:
        self.wait_until(lambda recorder: recorder.paths >= set(paths))

    def wait_for_rescans(self, count: int) -> None:
        self.wait_until(lambda recorder: recorder.rescan_count >= count)

    def list_paths_until_now(self, root: Path, name: str = "marker") -> set[str]:
        """Return all paths notified by the time that a last change, made now, is notified."""
        (root / name).write_bytes(os.urandom(8))
        self.expect_paths(name)
        return self.paths


@contextmanager
def watched(
    root: Path,
    *,
    timings: WatchTimings = DEFAULT_TIMINGS,
    open_source: OpenSource = SystemSource,
) -> Iterator[tuple[FileWatcher, ChangeRecorder]]:
    """A watcher that has notified its first rescan; the recorder is empty."""
    recorder = ChangeRecorder()
    watcher = FileWatcher(
        root,
        recorder.notify,
        on_error=recorder.on_error,
        timings=timings,
        open_source=open_source,
    )
    watcher.start()
    try:
        recorder.wait_for_rescans(1)
        recorder.changes.clear()
        yield watcher, recorder
    finally:
        watcher.close()
