"""File events on Linux: a binding of inotify and one watch per folder.

Kept in step with the tree. watchdog's emitter hides an exhausted watch limit and queue overflows,
watches every folder, and wakes up every second. Links are not followed; a watch is set before its
folder is listed.
"""

import ctypes
import errno
import os
import select
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from codekernel.watching.event_source import (
    GIT_FOLDER,
    WatchEvents,
    can_hold_relevant_paths,
    is_relevant_path,
)

# The part of <sys/inotify.h> that is used.
IN_MODIFY = 0x2
IN_ATTRIB = 0x4
IN_CLOSE_WRITE = 0x8
IN_MOVED_FROM = 0x40
IN_MOVED_TO = 0x80
IN_CREATE = 0x100
IN_DELETE = 0x200
IN_DELETE_SELF = 0x400
IN_MOVE_SELF = 0x800
IN_UNMOUNT = 0x2000
IN_Q_OVERFLOW = 0x4000
IN_IGNORED = 0x8000
IN_ONLYDIR = 0x0100_0000
IN_DONT_FOLLOW = 0x0200_0000
IN_EXCL_UNLINK = 0x0400_0000
IN_ISDIR = 0x4000_0000

# Opening, reading and closing unwritten are left out. IN_ATTRIB is in: chmod can make a file
# readable. IN_EXCL_UNLINK: what happens to a deleted file that is still open is of no interest.
WATCH_MASK = (
    IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE
    | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK
)  # fmt: skip

# Of the folders above the root: renamed, and the root has another path.
ANCESTOR_MASK = IN_MOVE_SELF | IN_DELETE_SELF | IN_ONLYDIR | IN_DONT_FOLLOW

# Readable with priority after each mount and unmount: a disk may lie over the root now. proc(5)
MOUNTS_FILE = "/proc/self/mountinfo"

EVENT_HEADER = struct.Struct("iIII")

# A thousand or so events at once.
MAX_READ_BYTES = 65_536


class InotifyEvent(NamedTuple):
    """What happened in the folder of ``watch``, to the entry ``name`` or, if empty, to itself."""

    watch: int
    mask: int
    name: str


class Inotify:
    """One inotify instance. ``read`` and ``close`` are called by one thread, the rest by any."""

    def __init__(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        try:
            self._add: Callable[[int, bytes, int], int] = libc.inotify_add_watch
            self._remove: Callable[[int, int], int] = libc.inotify_rm_watch
            begin: Callable[[int], int] = libc.inotify_init1
        except AttributeError as error:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from error
        # The number of a closed descriptor may be another file's when ``wake`` is called.
        self._close_lock = threading.Lock()
        self._is_closed = False
        self._waker = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._descriptor = begin(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._descriptor < 0:
            failure = ctypes.get_errno()
            os.close(self._waker)
            raise OSError(failure, os.strerror(failure))
        self._poll = select.poll()
        self._poll.register(self._descriptor, select.POLLIN)
        self._poll.register(self._waker, select.POLLIN)
        self._mounts = -1
        with suppress(OSError):  # a sandbox without /proc
            self._mounts = os.open(MOUNTS_FILE, os.O_RDONLY | os.O_CLOEXEC)
            self._poll.register(self._mounts, select.POLLPRI)

    @property
    def reports_mounts(self) -> bool:
        """Whether ``read`` returns when a disk is mounted or unmounted."""
        return self._mounts >= 0

    def add(self, folder: str, mask: int = WATCH_MASK | IN_DONT_FOLLOW) -> int:
        """Watch ``folder``, not what is below it; a folder already watched has the same number."""
        watch = self._add(self._descriptor, os.fsencode(folder), mask)
        if watch < 0:
            failure = ctypes.get_errno()
            raise OSError(failure, os.strerror(failure), folder)
        return watch

    def remove(self, watch: int) -> None:
        """Stop watching; ignored if the folder is gone and the watch with it."""
        self._remove(self._descriptor, watch)

    def read(self, timeout: float | None) -> list[InotifyEvent]:
        """Return the next events, after at most ``timeout`` seconds; none when woken."""
        milliseconds = None if timeout is None else timeout * 1000
        ready = {descriptor for descriptor, _ in self._poll.poll(milliseconds)}
        if self._waker in ready:
            os.eventfd_read(self._waker)
        if self._descriptor not in ready:
            return []
        return parse_events(os.read(self._descriptor, MAX_READ_BYTES))

    def wake(self) -> None:
        """Let ``read`` return."""
        with self._close_lock:
            if not self._is_closed:
                os.eventfd_write(self._waker, 1)

    def close(self) -> None:
        """Close the descriptors; the system drops the watches."""
        with self._close_lock:
            self._is_closed = True
            os.close(self._waker)
        os.close(self._descriptor)
        if self.reports_mounts:
            os.close(self._mounts)


def parse_events(buffer: bytes) -> list[InotifyEvent]:
    """Return the events in what one read returned."""
    events = []
    position = 0
    while position < len(buffer):
        watch, mask, _, length = EVENT_HEADER.unpack_from(buffer, position)
        position += EVENT_HEADER.size
        name = os.fsdecode(buffer[position : position + length].rstrip(b"\0")) if length else ""
        position += length
        events.append(InotifyEvent(watch, mask, name))
    return events


ROOT = ""

# A folder that vanished, became something else or may not be read has no events.
UNWATCHABLE_ERRNOS = {errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP}

SELF_CHANGED_MASK = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED


class InotifySource:
    """The watches of one repository, and what their events mean.

    Used by one thread; only ``wake``, ``stop`` and ``guard_folders`` are called by others.
    """

    def __init__(self, root: str, skip_folder: Callable[[str], bool] | None) -> None:
        self._root = root
        self._skip_folder = skip_folder
        self._stopping = threading.Event()
        self._paths: dict[int, str] = {}
        self._guards: frozenset[int] = frozenset()
        self._inotify = Inotify()
        self.reports_root = self._inotify.reports_mounts and self._watch_ancestors()

    def refresh_watches(self) -> None:
        """Watch the tree as it is now, and nothing that was watched before but is not in it."""
        before = self._paths
        self._paths = {}
        self._watch_tree(ROOT)
        for watch in before.keys() - self._paths.keys() - self._guards:
            self._inotify.remove(watch)

    def guard_folders(self, folders: Sequence[Path]) -> bool:
        """Watch also the files in these folders, instead of earlier ones; false if it cannot."""
        for watch in self._guards:
            if watch not in self._paths:
                self._inotify.remove(watch)
        try:
            self._guards = frozenset(self._inotify.add(os.fspath(folder)) for folder in folders)
        except OSError:
            self._guards = frozenset()
            return False
        return True

    def wait(self, timeout: float | None) -> WatchEvents:
        """Return what the next events mean."""
        paths: set[str] = set()
        needs_rescan = is_guard_changed = False
        for event in self._inotify.read(timeout):
            if event.mask & IN_Q_OVERFLOW:
                self.refresh_watches()
                return WatchEvents(needs_rescan=True, is_guard_changed=bool(self._guards))
            is_guard_changed = is_guard_changed or event.watch in self._guards
            folder = self._paths.get(event.watch)
            if folder is None:
                continue
            if not event.name:
                if folder == ROOT and event.mask & SELF_CHANGED_MASK:
                    return WatchEvents(is_root_lost=True)
                needs_rescan = needs_rescan or bool(event.mask & IN_UNMOUNT)
                if event.mask & IN_IGNORED:
                    del self._paths[event.watch]
                continue
            path = f"{folder}/{event.name}" if folder else event.name
            needs_rescan = self._update_watches(path, event.mask) or needs_rescan
            if _is_relevant_event(path, event):
                paths.add(path)
        return WatchEvents(
            frozenset(paths), needs_rescan=needs_rescan, is_guard_changed=is_guard_changed
        )

    def wake(self) -> None:
        """Let ``wait`` return."""
        self._inotify.wake()

    def stop(self) -> None:
        """Let ``wait`` return and ``refresh_watches`` give up."""
        self._stopping.set()
        self._inotify.wake()

    def close(self) -> None:
        """Drop all watches."""
        self._inotify.close()

    def _watch_ancestors(self) -> bool:
        """Watch the folders above the root; false if a change of its path could be missed."""
        if os.path.realpath(self._root) != self._root:
            return False  # a link on the way may be pointed elsewhere
        try:
            for folder in Path(self._root).parents:
                self._inotify.add(os.fspath(folder), ANCESTOR_MASK)
        except OSError:
            return False
        return True

    def _update_watches(self, path: str, mask: int) -> bool:
        """Adapt the watches to a folder that came or went; true if it was moved."""
        if not mask & IN_ISDIR:
            return False
        if mask & IN_MOVED_FROM:
            self._unwatch_tree(path)
        elif mask & (IN_CREATE | IN_MOVED_TO | IN_ATTRIB):
            self._watch_tree(path)
        return bool(mask & (IN_MOVED_FROM | IN_MOVED_TO)) and is_relevant_path(path)

    def _watch_tree(self, top: str) -> None:
        waiting = [top]
        while waiting and not self._stopping.is_set():
            folder = waiting.pop()
            if not self._can_watch(folder):
                continue
            absolute = f"{self._root}/{folder}" if folder else self._root
            try:
                mask = WATCH_MASK if folder == ROOT else WATCH_MASK | IN_DONT_FOLLOW
                watch = self._inotify.add(absolute, mask)
                if self._paths.get(watch) == folder:
                    continue  # and so are the folders in it: listed then, or reported since
                self._paths[watch] = folder
                waiting += _list_folders(absolute, folder)
            except OSError as error:
                if folder == ROOT or error.errno not in UNWATCHABLE_ERRNOS:
                    raise

    def _can_watch(self, folder: str) -> bool:
        if folder == ROOT:
            return True
        if not can_hold_relevant_paths(folder):
            return False
        # Even if .git is ignored, its list of ignored files counts.
        if GIT_FOLDER in folder.split("/"):
            return True
        return self._skip_folder is None or not self._skip_folder(folder)

    def _unwatch_tree(self, top: str) -> None:
        below = f"{top}/"
        for watch, path in list(self._paths.items()):
            if path == top or path.startswith(below):
                self._inotify.remove(watch)
                del self._paths[watch]


def _is_relevant_event(path: str, event: InotifyEvent) -> bool:
    # .git changes all the time; only that it was created or deleted is relevant.
    if event.name == GIT_FOLDER and event.mask & (IN_MODIFY | IN_ATTRIB):
        return False
    return is_relevant_path(path)


def _list_folders(absolute: str, folder: str) -> list[str]:
    prefix = f"{folder}/" if folder else ""
    with os.scandir(absolute) as entries:
        return [prefix + entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
