"""Linux's inotify, three calls and a queue of events; knows nothing of repositories.

Not watchdog's: its emitter of 7.1 swallows a used-up limit for all but the topmost folder, keeps an
overflow of the queue to itself, and watches every folder there is (measured with a limit of 5: the
events of 16 of 20 folders were lost without a word).
"""

import ctypes
import errno
import os
import select
import struct
import threading
from collections.abc import Callable
from typing import NamedTuple

# <sys/inotify.h>, the part of it that is used.
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
# readable. IN_EXCL_UNLINK: what happens to a deleted file that someone still holds open is no news.
CHANGES = (
    IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE
    | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK
)  # fmt: skip

HEADER = struct.Struct("iIII")
# A thousand or so events at once.
READ_BYTES = 65_536


class Event(NamedTuple):
    """What happened in the folder of ``watch``, to the entry ``name`` or, if empty, to itself."""

    watch: int
    mask: int
    name: str


class Inotify:
    """One inotify instance. ``wake`` may be called by any thread, the rest by the reader only."""

    def __init__(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        try:
            self._add: Callable[[int, bytes, int], int] = libc.inotify_add_watch
            self._remove: Callable[[int, int], int] = libc.inotify_rm_watch
            begin: Callable[[int], int] = libc.inotify_init1
        except AttributeError as error:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from error
        # A number of a closed descriptor may be another file's by the time someone wakes us.
        self._closing = threading.Lock()
        self._closed = False
        self._waker = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._descriptor = begin(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._descriptor < 0:
            failure = ctypes.get_errno()
            os.close(self._waker)
            raise OSError(failure, os.strerror(failure))
        self._poll = select.poll()
        self._poll.register(self._descriptor, select.POLLIN)
        self._poll.register(self._waker, select.POLLIN)

    def add(self, folder: str, *, follow_link: bool = False) -> int:
        """Watch ``folder``, not what is below it; a folder already watched has the same number."""
        mask = CHANGES if follow_link else CHANGES | IN_DONT_FOLLOW
        watch = self._add(self._descriptor, os.fsencode(folder), mask)
        if watch < 0:
            failure = ctypes.get_errno()
            raise OSError(failure, os.strerror(failure), folder)
        return watch

    def remove(self, watch: int) -> None:
        """Stop watching; no matter if the folder is gone and the watch with it."""
        self._remove(self._descriptor, watch)

    def read(self, timeout: float) -> list[Event]:
        """The events that wait, after at most ``timeout`` seconds; none when woken."""
        ready = {descriptor for descriptor, _ in self._poll.poll(timeout * 1000)}
        if self._waker in ready:
            os.eventfd_read(self._waker)
        if self._descriptor not in ready:
            return []
        return parse(os.read(self._descriptor, READ_BYTES))

    def wake(self) -> None:
        """Let a ``read`` that waits return."""
        with self._closing:
            if not self._closed:
                os.eventfd_write(self._waker, 1)

    def close(self) -> None:
        """Give everything back; the system drops the watches."""
        with self._closing:
            self._closed = True
            os.close(self._waker)
        os.close(self._descriptor)


def parse(buffer: bytes) -> list[Event]:
    """The events in what one read returned."""
    events = []
    position = 0
    while position < len(buffer):
        watch, mask, _, length = HEADER.unpack_from(buffer, position)
        position += HEADER.size
        name = os.fsdecode(buffer[position : position + length].rstrip(b"\0")) if length else ""
        position += length
        events.append(Event(watch, mask, name))
    return events
