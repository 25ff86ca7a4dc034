"""Watching on Linux: one inotify watch per folder, kept in step with the tree.

Links are not followed. A folder's watch is set before the folder is listed, so that what appears
in between is seen either way; a new folder is told as such, and whoever is told walks it.
"""

import errno
import os
import threading
from collections.abc import Callable

from kernel.watching.inotify import (
    IN_ATTRIB,
    IN_CREATE,
    IN_DELETE_SELF,
    IN_IGNORED,
    IN_ISDIR,
    IN_MODIFY,
    IN_MOVE_SELF,
    IN_MOVED_FROM,
    IN_MOVED_TO,
    IN_Q_OVERFLOW,
    IN_UNMOUNT,
    Event,
    Inotify,
)
from kernel.watching.paths import GIT_FOLDER, is_told, may_hold_news
from kernel.watching.source import News

ROOT = ""
# A folder that vanished, became something else or may not be read has nothing to be told of.
NOTHING_TO_WATCH = {errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP}
SELF_CHANGED = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED


class WatchedFolders:
    """The watches of one repository, and what their events mean."""

    def __init__(self, root: str, skip_folder: Callable[[str], bool] | None) -> None:
        self._root = root
        self._skip_folder = skip_folder
        self._stopping = threading.Event()
        self._paths: dict[int, str] = {}
        self._inotify = Inotify()

    def watch_everything(self) -> None:
        """Watch the tree as it is now, and nothing that was watched before but is not in it."""
        before = self._paths
        self._paths = {}
        self._watch_tree(ROOT)
        for watch in before.keys() - self._paths.keys():
            self._inotify.remove(watch)

    def wait(self, timeout: float) -> News:
        """What the next events tell."""
        paths: set[str] = set()
        sweep = False
        for event in self._inotify.read(timeout):
            if event.mask & IN_Q_OVERFLOW:
                self.watch_everything()
                return News(sweep=True)
            folder = self._paths.get(event.watch)
            if folder is None:
                continue
            if not event.name:
                if folder == ROOT and event.mask & SELF_CHANGED:
                    return News(lost=True)
                sweep = sweep or bool(event.mask & IN_UNMOUNT)
                if event.mask & IN_IGNORED:
                    del self._paths[event.watch]
                continue
            path = f"{folder}/{event.name}" if folder else event.name
            sweep = self._follow(path, event.mask) or sweep
            if _is_news(path, event):
                paths.add(path)
        return News(frozenset(paths), sweep=sweep)

    def wake(self) -> None:
        """Let a ``wait`` return."""
        self._inotify.wake()

    def stop(self) -> None:
        """Let whatever is under way end."""
        self._stopping.set()
        self._inotify.wake()

    def close(self) -> None:
        """Drop all watches."""
        self._inotify.close()

    def _follow(self, path: str, mask: int) -> bool:
        """Keep the watches in step with a folder that came or went; true if it was moved."""
        if not mask & IN_ISDIR:
            return False
        if mask & IN_MOVED_FROM:
            self._forget_tree(path)
        elif mask & (IN_CREATE | IN_MOVED_TO | IN_ATTRIB):
            self._watch_tree(path)
        return bool(mask & (IN_MOVED_FROM | IN_MOVED_TO)) and is_told(path)

    def _watch_tree(self, top: str) -> None:
        waiting = [top]
        while waiting and not self._stopping.is_set():
            folder = waiting.pop()
            if not self._is_watched(folder):
                continue
            absolute = f"{self._root}/{folder}" if folder else self._root
            try:
                watch = self._inotify.add(absolute, follow_link=folder == ROOT)
                if self._paths.get(watch) == folder:
                    continue  # and so are the folders in it: listed then, or told of since
                self._paths[watch] = folder
                waiting += _folders_in(absolute, folder)
            except OSError as error:
                if folder == ROOT or error.errno not in NOTHING_TO_WATCH:
                    raise

    def _is_watched(self, folder: str) -> bool:
        if folder == ROOT:
            return True
        if not may_hold_news(folder):
            return False
        # Whatever the ignore rules say of .git, its list of ignored files counts.
        if GIT_FOLDER in folder.split("/"):
            return True
        return self._skip_folder is None or not self._skip_folder(folder)

    def _forget_tree(self, top: str) -> None:
        below = f"{top}/"
        for watch, path in list(self._paths.items()):
            if path == top or path.startswith(below):
                self._inotify.remove(watch)
                del self._paths[watch]


def _is_news(path: str, event: Event) -> bool:
    # .git is written into all day; only that it came or went says something.
    if event.name == GIT_FOLDER and event.mask & (IN_MODIFY | IN_ATTRIB):
        return False
    return is_told(path)


def _folders_in(absolute: str, folder: str) -> list[str]:
    prefix = f"{folder}/" if folder else ""
    with os.scandir(absolute) as entries:
        return [prefix + entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
