"""File events on macOS and Windows, by watchdog.

It does not report dropped events, but those happen in bursts, which end in a rescan anyway.
"""

import errno
import os
import queue
from collections.abc import Callable, Sequence
from pathlib import Path

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from codekernel.watching.event_source import GIT_FOLDER, ChangedPaths, is_relevant_path

# Opened, and closed without having been written, are no changes.
RELEVANT_EVENT_TYPES = frozenset({"created", "deleted", "modified", "moved", "closed", "attrib"})

# More are left for the next wait.
MAX_EVENTS_PER_READ = 10_000


class _EventQueue(FileSystemEventHandler):
    def __init__(self) -> None:
        self.events: queue.SimpleQueue[FileSystemEvent | None] = queue.SimpleQueue()

    def dispatch(self, event: FileSystemEvent) -> None:
        self.events.put(event)


class WatchdogSource:
    """A watchdog observer for one repository, and what its events mean.

    Used by one thread; only ``wake``, ``stop`` and ``guard_folders`` are called by others.
    """

    reports_root = False  # ``wait`` may not return when the root is another folder

    def __init__(self, root: str, skip_folder: Callable[[str], bool] = lambda _: False) -> None:
        # FSEvents names real paths, whatever link the root was reached by.
        self._root = os.path.realpath(root)
        self._skip_folder = skip_folder
        self._skipped: dict[str, bool] = {}
        self._handler = _EventQueue()
        self._events = self._handler.events
        self._observer = Observer()
        self._is_started = False

    def refresh_watches(self) -> None:
        """Begin; later only ask again which folders are to be skipped."""
        self._skipped = {}
        if not self._is_started:
            self._observer.schedule(self._handler, self._root, recursive=True)
            self._observer.start()
            self._is_started = True

    def wait(self, timeout: float | None) -> ChangedPaths:
        """Return what the next events mean."""
        paths: set[str] = set()
        needs_rescan = False
        for event in self._read_events(timeout):
            if event.event_type not in RELEVANT_EVENT_TYPES or (
                event.is_directory and event.event_type == "modified"
            ):
                continue
            ends = [
                relative
                for path in (event.src_path, event.dest_path)
                if path and (relative := self._get_relative_path(os.fsdecode(path))) is not None
            ]
            if "" in ends and event.event_type == "deleted":
                return ChangedPaths(is_root_lost=True)
            relevant = [path for path in ends if path and self._is_relevant(path, event.event_type)]
            paths.update(relevant)
            is_moved_folder = event.is_directory and event.event_type == "moved"
            needs_rescan = needs_rescan or bool(relevant and is_moved_folder)
        if not all(emitter.is_alive() for emitter in self._observer.emitters):
            raise OSError(errno.EIO, "the system stopped telling of changes", self._root)
        return ChangedPaths(frozenset(paths), needs_rescan=needs_rescan)

    def wake(self) -> None:
        """Let ``wait`` return."""
        self._events.put(None)

    stop = wake

    def guard_folders(self, folders: Sequence[Path]) -> bool:
        """Return false: an observer per folder would cost more than a look now and then."""
        return not folders

    def close(self) -> None:
        """End watchdog's threads, which are daemons."""
        self._observer.stop()

    def _read_events(self, timeout: float | None) -> list[FileSystemEvent]:
        events: list[FileSystemEvent | None] = []
        try:
            events.append(self._events.get(timeout=timeout))
            while len(events) < MAX_EVENTS_PER_READ:
                events.append(self._events.get_nowait())
        except queue.Empty:
            pass
        return [event for event in events if event is not None]

    def _get_relative_path(self, path: str) -> str | None:
        if path == self._root:
            return ""
        prefix = self._root.rstrip(os.sep) + os.sep
        return path.removeprefix(prefix).replace(os.sep, "/") if path.startswith(prefix) else None

    def _is_relevant(self, path: str, event_type: str) -> bool:
        folder, _, name = path.rpartition("/")
        if name == GIT_FOLDER and event_type in {"modified", "attrib"}:
            return False
        return is_relevant_path(path) and not self._is_skipped(folder)

    def _is_skipped(self, folder: str) -> bool:
        if not folder or GIT_FOLDER in folder.split("/"):
            return False
        if folder not in self._skipped:
            above = folder.rpartition("/")[0]
            self._skipped[folder] = self._is_skipped(above) or self._skip_folder(folder)
        return self._skipped[folder]
