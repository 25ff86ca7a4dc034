"""Which paths are relevant, what a source of file events reports, and the watchdog source.

Inside .git only what changes the walk is relevant. watchdog serves macOS and Windows; it does not
report dropped events, but those happen in bursts, which end in a rescan anyway.
"""

import errno
import os
import queue
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent

GIT_FOLDER = ".git"

RELEVANT_GIT_FILES = frozenset({"HEAD", "info/exclude"})

# Of the folders in .git only this one holds relevant files; objects/ alone has 256 more.
WATCHED_GIT_FOLDERS = frozenset({"info"})


def is_relevant_path(path: str) -> bool:
    """Return whether a change of ``path`` (a file, or a folder) is reported."""
    inside = get_path_in_git(path)
    return inside is None or inside in RELEVANT_GIT_FILES


def can_hold_relevant_paths(folder: str) -> bool:
    """Return whether something in ``folder`` could be relevant, so that it is watched."""
    inside = get_path_in_git(folder)
    return inside is None or inside in WATCHED_GIT_FOLDERS


def get_path_in_git(path: str) -> str | None:
    """Return what follows ``.git/``, of the repository or one within it; None elsewhere."""
    if GIT_FOLDER not in path:
        return None
    parts = path.split("/")
    if GIT_FOLDER not in parts[:-1]:
        return None
    return "/".join(parts[parts.index(GIT_FOLDER) + 1 :])


@dataclass(frozen=True, slots=True)
class WatchEvents:
    """Relative paths that changed, whether others may have too, and what else happened."""

    paths: frozenset[str] = frozenset()
    needs_rescan: bool = False
    is_root_lost: bool = False
    is_guard_changed: bool = False


# Opened, and closed without having been written, are no changes.
RELEVANT_EVENT_TYPES = frozenset({"created", "deleted", "modified", "moved", "closed", "attrib"})

# More are left for the next wait.
MAX_EVENTS_PER_READ = 10_000


class WatchdogSource:
    """A watchdog observer for one repository, and what its events mean.

    Used by one thread; only ``wake``, ``stop`` and ``guard_folders`` are called by others.
    """

    reports_root = False  # ``wait`` may not return when the root is another folder

    def __init__(self, root: str, skip_folder: Callable[[str], bool] | None) -> None:
        # FSEvents names real paths, whatever link the root was reached by.
        self._root = os.path.realpath(root)
        self._skip_folder = skip_folder
        self._skipped: dict[str, bool] = {}
        self._events: queue.SimpleQueue[FileSystemEvent | None] = queue.SimpleQueue()
        from watchdog.observers import Observer  # noqa: PLC0415  # 60 ms, not needed on Linux

        self._observer = Observer()
        self._is_started = False

    def refresh_watches(self) -> None:
        """Begin; later only ask again which folders are to be skipped."""
        self._skipped = {}
        if self._is_started:
            return
        from watchdog.events import FileSystemEventHandler  # noqa: PLC0415

        events = self._events

        class Handler(FileSystemEventHandler):
            def dispatch(self, event: "FileSystemEvent") -> None:
                events.put(event)

        self._observer.schedule(Handler(), self._root, recursive=True)
        self._observer.start()
        self._is_started = True

    def wait(self, timeout: float | None) -> WatchEvents:
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
                return WatchEvents(is_root_lost=True)
            relevant = [path for path in ends if path and self._is_relevant(path, event.event_type)]
            paths.update(relevant)
            is_moved_folder = event.is_directory and event.event_type == "moved"
            needs_rescan = needs_rescan or bool(relevant and is_moved_folder)
        if not all(emitter.is_alive() for emitter in self._observer.emitters):
            raise OSError(errno.EIO, "the system stopped telling of changes", self._root)
        return WatchEvents(frozenset(paths), needs_rescan=needs_rescan)

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

    def _read_events(self, timeout: float | None) -> "list[FileSystemEvent]":
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
        if not folder or self._skip_folder is None or GIT_FOLDER in folder.split("/"):
            return False
        known = self._skipped.get(folder)
        if known is None:
            known = self._is_skipped(folder.rpartition("/")[0]) or self._skip_folder(folder)
            self._skipped[folder] = known
        return known
