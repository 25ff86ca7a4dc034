"""Writes down what a watcher tells, and waits for it."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from codekernel.watching.debounce import DEFAULT_TIMINGS, ChangedPaths, WatchTimings
from codekernel.watching.watcher import FileWatcher

PATIENCE_SECONDS = 30.0


class Scribe:
    def __init__(self) -> None:
        self._told = threading.Condition()
        self.changes: list[ChangedPaths] = []
        self.troubles: list[str] = []

    def notify(self, changes: ChangedPaths) -> None:
        with self._told:
            self.changes.append(changes)
            self._told.notify_all()

    def on_trouble(self, sentence: str) -> None:
        with self._told:
            self.troubles.append(sentence)
            self._told.notify_all()

    def wait_until(self, holds: Callable[["Scribe"], bool]) -> None:
        with self._told:
            done = self._told.wait_for(lambda: holds(self), PATIENCE_SECONDS)
        assert done, f"told only {self.changes} and {self.troubles}"

    @property
    def sweeps(self) -> int:
        return sum(changes.needs_rescan for changes in self.changes)

    @property
    def paths(self) -> set[str]:
        return set().union(*(changes.paths for changes in self.changes))

    def wait_for_paths(self, *paths: str) -> None:
        self.wait_until(lambda scribe: scribe.paths >= set(paths))

    def wait_for_sweeps(self, count: int) -> None:
        self.wait_until(lambda scribe: scribe.sweeps >= count)

    def told_after(self, root: Path, name: str = "marker") -> set[str]:
        """All paths told by the time that a last change, made now, is told."""
        (root / name).write_bytes(os.urandom(8))
        self.wait_for_paths(name)
        return self.paths


@contextmanager
def watched(
    root: Path,
    *,
    skip_folder: Callable[[str], bool] | None = None,
    timings: WatchTimings = DEFAULT_TIMINGS,
) -> Iterator[tuple[FileWatcher, Scribe]]:
    """A watcher that has told of its first sweep; the scribe's pages are empty."""
    scribe = Scribe()
    watcher = FileWatcher(
        root, scribe.notify, on_error=scribe.on_trouble, skip_folder=skip_folder, timings=timings
    )
    watcher.start()
    try:
        scribe.wait_for_sweeps(1)
        scribe.changes.clear()
        yield watcher, scribe
    finally:
        watcher.close()
