"""Files of a person's repository, written whole or not at all: beside, flushed, then renamed.

What a kill leaves is the old file or the new one, and at the worst a temporary file beside it,
which unfinished_writes.py removes at the next start. A power cut leaves one of them too; it may
take the rename back, of which the journal says how it was before
(docs/decisions/0018-what-a-round-may-cost.md).
"""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from kernel.agent.failing import ToolFailed
from kernel.domain.confinement.beneath import Place
from kernel.domain.confinement.folder_handle import FolderHandle

TEMPORARY_PREFIX, TEMPORARY_SUFFIX = ".codekernel-", ".tmp"
_NEW_FILE_MODE = 0o666  # less the umask, as for every program
_WRITE_BITS = 0o222
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS})


def temporary_name() -> str:
    """Return a name that nobody has."""
    return f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}{TEMPORARY_SUFFIX}"


def replace(place: Place, data: bytes, seen: os.stat_result, temporary: str) -> os.stat_result:
    """Put ``data`` in place of a file that was ``seen`` so, with its mode and owner.

    A link would be replaced itself. Raises ToolFailed if the file is protected or has been changed
    since, OSError.
    """
    name, parent = place.name, place.parent
    if not seen.st_mode & _WRITE_BITS:
        raise ToolFailed(f"{name} is write-protected: change its mode first (chmod u+w).")
    with _written(parent, temporary, data, seen) as status:
        if not is_same_state(parent.status(name), seen):
            raise ToolFailed(f"{name} was changed meanwhile by someone else: read it again.")
        parent.rename(temporary, parent, name)
    return status


def create(parent: FolderHandle, name: str, data: bytes, temporary: str) -> os.stat_result:
    """Make a file; raises FileExistsError, and changes nothing, if there is something already."""
    with _written(parent, temporary, data) as status:
        _put_exclusively(parent, temporary, name)
    return status


def is_same_state(one: os.stat_result, other: os.stat_result) -> bool:
    """Whether both are of one file that nobody has written to in between."""
    same_file = (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
    return same_file and (one.st_size, one.st_mtime_ns) == (other.st_size, other.st_mtime_ns)


@contextmanager
def _written(
    parent: FolderHandle, temporary: str, data: bytes, like: os.stat_result | None = None
) -> Iterator[os.stat_result]:
    """A file with ``data``, on the disk, with owner and mode of another; gone after the block."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        descriptor = parent.open_file(temporary, flags, _NEW_FILE_MODE)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor is not a path
            file.write(data)
            file.flush()
            if like is not None:
                _take_over(descriptor, like)
            os.fsync(descriptor)
        yield parent.status(temporary)  # not before it is closed: Windows notes the time then
    finally:
        with suppress(OSError):
            parent.remove_file(temporary)


def _take_over(descriptor: int, seen: os.stat_result) -> None:
    """Give the new file the owner and mode of the old one; the owner only if we may."""
    if hasattr(os, "fchown"):
        with suppress(OSError):
            os.fchown(descriptor, seen.st_uid, seen.st_gid)
    if hasattr(os, "fchmod"):  # elsewhere only protection counts, and a protected file is refused
        os.fchmod(descriptor, stat.S_IMODE(seen.st_mode))


def _put_exclusively(parent: FolderHandle, temporary: str, name: str) -> None:
    """Give a file its name; raises FileExistsError if something has it."""
    try:
        parent.link_file(temporary, name)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # A file system without links (FAT, some shares): the narrow gap is all it offers.
        with suppress(FileNotFoundError):
            parent.status(name)
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from error
        parent.rename(temporary, parent, name)
