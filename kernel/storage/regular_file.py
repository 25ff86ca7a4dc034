"""Reads of files that anything may have taken the place of: never blocks, never follows a loop."""

import errno
import os
import stat
from pathlib import Path

# A pipe is opened without waiting for its writer; a file ignores this.
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
# What the system says where something else than a readable file lies at a path. It is no passing
# failure: trying again changes nothing.
_OTHER_KINDS = frozenset({errno.EISDIR, errno.ELOOP, errno.ENXIO, errno.ENODEV, errno.EINVAL})


class NotRegularFile(OSError):
    """A folder, a pipe, a device or a loop of links lies where a file is expected."""


def open_regular(path: str | Path, *, flags: int = 0, dir_fd: int | None = None) -> int:
    """Return a descriptor for reading. Raises NotRegularFile, or another OSError."""
    try:
        descriptor = os.open(path, _FLAGS | flags, dir_fd=dir_fd)
    except OSError as error:
        if error.errno in _OTHER_KINDS or (os.name == "nt" and os.path.isdir(path)):  # noqa: PTH112
            raise _not_regular(path) from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _not_regular(path)
    return descriptor


def read_regular(path: str | Path, *, flags: int = 0, dir_fd: int | None = None) -> bytes:
    """Return the content of a regular file. Raises NotRegularFile, or another OSError."""
    descriptor = open_regular(path, flags=flags, dir_fd=dir_fd)
    with open(descriptor, "rb") as file:  # noqa: PTH123  # a descriptor is not a path
        return file.read()


def _not_regular(path: str | Path) -> NotRegularFile:
    return NotRegularFile(errno.EISDIR, "is not a regular file", str(path))
