"""Which paths are relevant, what a source of file events reports, and the source on Linux.

Inside .git only what changes the walk is relevant. On Linux there is one inotify watch per folder,
kept in step with the tree: watchdog's emitter hides an exhausted watch limit and queue overflows,
watches every folder, and wakes up every second. Links are not followed; a watch is set before its
folder is listed.
"""

import ctypes
import errno
import os
import select
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

GIT_FOLDER = ".git"

RELEVANT_GIT_FILES = frozenset({"HEAD", "info/exclude"})

# Of the folders in .git only this one holds relevant files; objects/ alone has 256 more.
WATCHED_GIT_FOLDERS = frozenset({"info"})


def is_relevant_path(path: str) -> bool:
    """Return whether a change of ``path`` (a file, or a folder) is reported."""
    inside = get_path_in_git(path)
    return inside is None or inside in RELEVANT_GIT_FILES


def get_path_in_git(path: str) -> str | None:
    """Return what follows ``.git/``, of the repository or one within it; None elsewhere."""
    if GIT_FOLDER not in path:
        return None
    parts = path.split("/")
    if GIT_FOLDER not in parts[:-1]:
        return None
    return "/".join(parts[parts.index(GIT_FOLDER) + 1 :])


@dataclass(frozen=True, slots=True)
class ChangedPaths:
    """What to look at again.

    ``paths`` are relative to the root, with ``/``, undecodable bytes as surrogates: files or
    folders, present or gone. A folder stands for all that is in it.
    """

    paths: frozenset[str] = frozenset()
    needs_rescan: bool = False  # other paths may have changed too
    is_guard_changed: bool = False  # something in a guarded folder, outside the root
    is_root_lost: bool = False


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


ROOT = ""

# A folder that vanished, became something else or may not be read has no events.
UNWATCHABLE_ERRNOS = {errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP}

SELF_CHANGED_MASK = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED


class InotifySource:
    """The watches of one repository, and what their events mean.

    Used by one thread; only ``wake``, ``stop`` and ``guard_folders`` are called by others, and not
    after ``close``: the number of a closed descriptor may be another file's.
    """

    def __init__(self, root: str, skip_folder: Callable[[str], bool] = lambda _: False) -> None:
        """Watch nothing so far. Raises OSError."""
        libc = ctypes.CDLL(None, use_errno=True)
        try:
            self._add: Callable[[int, bytes, int], int] = libc.inotify_add_watch
            self._remove: Callable[[int, int], int] = libc.inotify_rm_watch
            begin: Callable[[int], int] = libc.inotify_init1
        except AttributeError as error:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from error
        self._waker = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._descriptor = begin(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._descriptor < 0:
            failure = ctypes.get_errno()
            os.close(self._waker)
            raise OSError(failure, os.strerror(failure))
        self._poll = select.poll()
        self._opened = [self._descriptor, self._waker]
        for descriptor in self._opened:
            self._poll.register(descriptor, select.POLLIN)
        self._root = root
        self._skip_folder = skip_folder
        self._stopping = threading.Event()
        self._paths: dict[int, str] = {}
        self._guards: frozenset[int] = frozenset()
        self.reports_root = self._watch_mounts() and self._watch_ancestors()

    def refresh_watches(self) -> None:
        """Watch the tree as it is now, and nothing that was watched before but is not in it."""
        before = self._paths
        self._paths = {}
        self._watch_tree(ROOT)
        for watch in before.keys() - self._paths.keys() - self._guards:
            self._remove_watch(watch)

    def guard_folders(self, folders: Sequence[Path]) -> bool:
        """Watch also the files in these folders, instead of earlier ones; false if it cannot."""
        before, self._guards = self._guards, frozenset()  # the end of a watch is an event, too
        for watch in before - self._paths.keys():
            self._remove_watch(watch)
        try:
            self._guards = frozenset(self._add_watch(os.fspath(folder)) for folder in folders)
        except OSError:
            return False
        return True

    def wait(self, timeout: float | None) -> ChangedPaths:
        """Return what the next events mean."""
        paths: set[str] = set()
        needs_rescan = is_guard_changed = False
        for event in self._read_events(timeout):
            if event.mask & IN_Q_OVERFLOW:
                self.refresh_watches()
                return ChangedPaths(needs_rescan=True, is_guard_changed=bool(self._guards))
            is_guard_changed = is_guard_changed or event.watch in self._guards
            folder = self._paths.get(event.watch)
            if folder is None:
                continue
            if not event.name:
                if folder == ROOT and event.mask & SELF_CHANGED_MASK:
                    return ChangedPaths(is_root_lost=True)
                needs_rescan = needs_rescan or bool(event.mask & IN_UNMOUNT)
                if event.mask & IN_IGNORED:
                    del self._paths[event.watch]
                continue
            path = f"{folder}/{event.name}" if folder else event.name
            needs_rescan = self._update_watches(path, event.mask) or needs_rescan
            # .git changes all the time; only that it was created or deleted is relevant.
            is_git_touched = event.name == GIT_FOLDER and event.mask & (IN_MODIFY | IN_ATTRIB)
            if not is_git_touched and is_relevant_path(path):
                paths.add(path)
        return ChangedPaths(frozenset(paths), needs_rescan, is_guard_changed)

    def wake(self) -> None:
        """Let ``wait`` return."""
        os.eventfd_write(self._waker, 1)

    def stop(self) -> None:
        """Let ``wait`` return and ``refresh_watches`` give up."""
        self._stopping.set()
        self.wake()

    def close(self) -> None:
        """Close the descriptors; the system drops the watches."""
        for descriptor in self._opened:
            os.close(descriptor)

    def _add_watch(self, folder: str, mask: int = WATCH_MASK | IN_DONT_FOLLOW) -> int:
        """Watch ``folder``, not what is below it; a folder already watched has the same number."""
        watch = self._add(self._descriptor, os.fsencode(folder), mask)
        if watch < 0:
            raise OSError(failure := ctypes.get_errno(), os.strerror(failure), folder)
        return watch

    def _remove_watch(self, watch: int) -> None:
        """Stop watching; ignored if the folder is gone and the watch with it."""
        self._remove(self._descriptor, watch)

    def _read_events(self, timeout: float | None) -> Iterator[InotifyEvent]:
        """Yield the next events, after at most ``timeout`` seconds; none when woken."""
        milliseconds = None if timeout is None else timeout * 1000
        ready = {descriptor for descriptor, _ in self._poll.poll(milliseconds)}
        if self._waker in ready:
            os.eventfd_read(self._waker)
        buffer = os.read(self._descriptor, MAX_READ_BYTES) if self._descriptor in ready else b""
        begin = 0
        while begin < len(buffer):
            watch, mask, _, length = EVENT_HEADER.unpack_from(buffer, begin)
            begin += EVENT_HEADER.size + length
            name = buffer[begin - length : begin].rstrip(b"\0")
            yield InotifyEvent(watch, mask, os.fsdecode(name))

    def _watch_mounts(self) -> bool:
        """Let ``wait`` return when a disk is mounted or unmounted; false if it cannot."""
        try:
            self._opened.append(os.open(MOUNTS_FILE, os.O_RDONLY | os.O_CLOEXEC))
            self._poll.register(self._opened[-1], select.POLLPRI)
        except OSError:  # a sandbox without /proc
            return False
        return True

    def _watch_ancestors(self) -> bool:
        """Watch the folders above the root; false if a change of its path could be missed."""
        if os.path.realpath(self._root) != self._root:
            return False  # a link on the way may be pointed elsewhere
        try:
            for folder in Path(self._root).parents:
                self._add_watch(os.fspath(folder), ANCESTOR_MASK)
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
            absolute, prefix = (
                (f"{self._root}/{folder}", f"{folder}/") if folder else (self._root, "")
            )
            try:
                mask = WATCH_MASK if folder == ROOT else WATCH_MASK | IN_DONT_FOLLOW
                watch = self._add_watch(absolute, mask)
                if self._paths.get(watch) == folder:
                    continue  # and so are the folders in it: listed then, or reported since
                self._paths[watch] = folder
                with os.scandir(absolute) as entries:
                    waiting += [
                        prefix + entry.name
                        for entry in entries
                        if entry.is_dir(follow_symlinks=False)
                    ]
            except OSError as error:
                if folder == ROOT or error.errno not in UNWATCHABLE_ERRNOS:
                    raise

    def _can_watch(self, folder: str) -> bool:
        inside = get_path_in_git(folder)
        # Even if .git is ignored, its list of ignored files counts.
        if inside is not None or folder.rpartition("/")[2] == GIT_FOLDER:
            return inside is None or inside in WATCHED_GIT_FOLDERS
        return folder == ROOT or not self._skip_folder(folder)

    def _unwatch_tree(self, top: str) -> None:
        below = f"{top}/"
        for watch, path in list(self._paths.items()):
            if path == top or path.startswith(below):
                self._remove_watch(watch)
                del self._paths[watch]
