"""Watching on macOS and Windows, where the system watches a whole tree: watchdog's observer.

Watchdog does not say when the system dropped events; that happens in storms only, and a storm ends
in a sweep anyway (``debounce``). Folders to skip are watched all the same, unheard.
"""

import errno
import os
import queue
from collections.abc import Callable
from typing import TYPE_CHECKING

from kernel.watching.paths import GIT_FOLDER, is_told
from kernel.watching.source import News

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent

# Opened, and closed without having been written, are no changes.
TELLING = frozenset({"created", "deleted", "modified", "moved", "closed", "attrib"})
# How much is taken up at once; more is taken up by the next wait.
EVENTS_AT_ONCE = 10_000


class ObservedTree:
    """A watchdog observer for one repository, and what its events mean."""

    def __init__(self, root: str, skip_folder: Callable[[str], bool] | None) -> None:
        # FSEvents names real paths, whatever link the root was reached by.
        self._root = os.path.realpath(root)
        self._skip_folder = skip_folder
        self._skipped: dict[str, bool] = {}
        self._events: queue.SimpleQueue[FileSystemEvent | None] = queue.SimpleQueue()
        from watchdog.observers import Observer  # noqa: PLC0415  # 60 ms nobody else needs

        self._observer = Observer()
        self._begun = False

    def watch_everything(self) -> None:
        """Begin; later only ask anew which folders are to be skipped."""
        self._skipped = {}
        if self._begun:
            return
        from watchdog.events import FileSystemEventHandler  # noqa: PLC0415

        events = self._events

        class Handler(FileSystemEventHandler):
            def dispatch(self, event: "FileSystemEvent") -> None:
                events.put(event)

        self._observer.schedule(Handler(), self._root, recursive=True)
        self._observer.start()
        self._begun = True

    def wait(self, timeout: float) -> News:
        """What the next events tell."""
        paths: set[str] = set()
        sweep = False
        for event in self._next_events(timeout):
            if event.event_type not in TELLING or (
                event.is_directory and event.event_type == "modified"
            ):
                continue
            ends = [
                relative
                for path in (event.src_path, event.dest_path)
                if path and (relative := self._relative(os.fsdecode(path))) is not None
            ]
            if "" in ends and event.event_type == "deleted":
                return News(lost=True)
            told = [path for path in ends if path and self._is_news(path, event.event_type)]
            paths.update(told)
            sweep = sweep or bool(told and event.is_directory and event.event_type == "moved")
        if not all(emitter.is_alive() for emitter in self._observer.emitters):
            raise OSError(errno.EIO, "the system stopped telling of changes", self._root)
        return News(frozenset(paths), sweep=sweep)

    def wake(self) -> None:
        """Let a ``wait`` return."""
        self._events.put(None)

    def stop(self) -> None:
        """Let whatever is under way end."""
        self.wake()

    def close(self) -> None:
        """End watchdog's threads, which are daemons."""
        self._observer.stop()

    def _next_events(self, timeout: float) -> "list[FileSystemEvent]":
        events: list[FileSystemEvent | None] = []
        try:
            events.append(self._events.get(timeout=timeout))
            while len(events) < EVENTS_AT_ONCE:
                events.append(self._events.get_nowait())
        except queue.Empty:
            pass
        return [event for event in events if event is not None]

    def _relative(self, path: str) -> str | None:
        if path == self._root:
            return ""
        prefix = self._root.rstrip(os.sep) + os.sep
        return path.removeprefix(prefix).replace(os.sep, "/") if path.startswith(prefix) else None

    def _is_news(self, path: str, happened: str) -> bool:
        folder, _, name = path.rpartition("/")
        if name == GIT_FOLDER and happened in {"modified", "attrib"}:
            return False
        return is_told(path) and not self._in_skipped(folder)

    def _in_skipped(self, folder: str) -> bool:
        if not folder or self._skip_folder is None or GIT_FOLDER in folder.split("/"):
            return False
        known = self._skipped.get(folder)
        if known is None:
            known = self._in_skipped(folder.rpartition("/")[0]) or self._skip_folder(folder)
            self._skipped[folder] = known
        return known
