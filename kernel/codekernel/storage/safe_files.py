"""Write files atomically (temporary file, fsync, rename), and read regular files only.

A pipe or a device in the place of a file must not block the process.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from codekernel.domain.confinement.folder_handle import FolderHandle
from codekernel.storage.os_errors import explain_os_error
from codekernel.storage.user_data import FILE_MODE, make_private_parents

_NO_HARDLINK_ERRNOS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS})


def make_temporary_name(prefix: str) -> str:
    """Return a file name that is not taken."""
    return f"{prefix}{os.urandom(8).hex()}.tmp"


@contextmanager
def write_temporary_file(
    folder: FolderHandle,
    temporary: str,
    content: bytes,
    mode: int,
    like: os.stat_result | None = None,
) -> Iterator[os.stat_result]:
    """Write a file and flush it to the disk; yield its status, and remove it after the block.

    It gets the owner and mode of ``like``. Raises OSError.
    """
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        descriptor = folder.open_file(temporary, flags, mode)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor is not a path
            file.write(content)
            file.flush()
            if like is not None:
                _copy_owner_and_mode(descriptor, like)
            os.fsync(descriptor)
        yield folder.status(temporary)  # not before it is closed: Windows notes the time then
    finally:
        with suppress(OSError):
            folder.remove_file(temporary)


def _copy_owner_and_mode(descriptor: int, like: os.stat_result) -> None:
    """Copy the mode, and the owner if this account may."""
    if hasattr(os, "fchown"):
        with suppress(OSError):
            os.fchown(descriptor, like.st_uid, like.st_gid)
    if hasattr(os, "fchmod"):  # elsewhere only protection counts, and a protected file is refused
        os.fchmod(descriptor, stat.S_IMODE(like.st_mode))


def rename_without_replacing(folder: FolderHandle, temporary: str, name: str) -> None:
    """Give a file its name; raises FileExistsError if something has it."""
    try:
        folder.link_file(temporary, name)
    except OSError as error:
        if error.errno not in _NO_HARDLINK_ERRNOS:
            raise
        # A file system without links (FAT, some shares): the narrow gap is all it offers.
        with suppress(FileNotFoundError):
            folder.status(name)
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from error
        folder.rename(temporary, folder, name)


def replace_file_atomically(folder: FolderHandle, name: str, content: bytes, mode: int) -> None:
    """Replace a file of an open folder, whole or not at all; raises OSError."""
    temporary = make_temporary_name(f".{name}.")
    with write_temporary_file(folder, temporary, content, mode):
        folder.rename(temporary, folder, name)
    with suppress(OSError):  # not every folder can be flushed
        folder.flush()


def fsync_folder(folder: Path) -> None:
    """Make a rename survive a power cut, where a folder can be flushed at all."""
    with suppress(OSError), FolderHandle.open(folder, follow=True) as handle:
        handle.flush()


def write_bytes_atomically(path: Path, content: bytes, *, mode: int = FILE_MODE) -> None:
    """Replace the file at ``path``, making its folder if needed; the umask still applies."""
    # A settings file that is a link into someone's dotfiles stays a link.
    target = Path(os.path.realpath(path))
    try:
        make_private_parents(target.parent)
        with FolderHandle.open(target.parent, follow=True) as folder:
            replace_file_atomically(folder, target.name, content, mode)
    except OSError as error:
        raise explain_os_error(error, path) from error


def create_file_atomically(path: Path, content: bytes, *, mode: int = FILE_MODE) -> bool:
    """Make the file at ``path``; return false, and change nothing, if there already is one."""
    temporary = make_temporary_name(f".{path.name}.")
    try:
        with FolderHandle.open(path.parent, follow=True) as folder:
            with write_temporary_file(folder, temporary, content, mode):
                rename_without_replacing(folder, temporary, path.name)
            with suppress(OSError):
                folder.flush()
    except FileExistsError:
        return False
    except OSError as error:
        raise explain_os_error(error, path) from error
    return True


# A pipe is opened without waiting for its writer; a file ignores this.
_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)

# Where something else than a readable file lies at a path; trying again changes nothing.
_NOT_REGULAR_ERRNOS = frozenset(
    {errno.EISDIR, errno.ELOOP, errno.ENXIO, errno.ENODEV, errno.EINVAL}
)


class NotRegularFile(OSError):
    """A folder, a pipe, a device or a loop of links lies where a file is expected."""


def open_regular(path: str | Path, *, folder: FolderHandle | None = None) -> int:
    """Return a descriptor for reading; in an open ``folder``, links are not followed.

    Raises NotRegularFile, or another OSError.
    """
    try:
        descriptor = folder.open_file(str(path)) if folder else os.open(path, _OPEN_FLAGS)
    except OSError as error:
        if error.errno in _NOT_REGULAR_ERRNOS or (os.name == "nt" and os.path.isdir(path)):  # noqa: PTH112
            raise _build_not_regular_error(path) from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _build_not_regular_error(path)
    return descriptor


def read_regular(path: str | Path, *, folder: FolderHandle | None = None) -> bytes:
    """Return the content of a regular file. Raises NotRegularFile, or another OSError."""
    with open(open_regular(path, folder=folder), "rb") as file:
        return file.read()


def _build_not_regular_error(path: str | Path) -> NotRegularFile:
    return NotRegularFile(errno.EISDIR, "is not a regular file", str(path))


def is_usable_file(path: Path) -> bool:
    """Return whether a file can be opened here without blocking."""
    try:
        found = path.stat()
    except OSError:  # a link that leads nowhere, or to itself
        return False
    # What may not be read is damage if it can be moved; otherwise opening it says what to do.
    may_move = os.access(path.parent, os.W_OK)
    return stat.S_ISREG(found.st_mode) and (os.access(path, os.R_OK | os.W_OK) or not may_move)


def is_usable_tree(folder: Path, *, flat: bool = False) -> bool:
    """Return whether there is a folder with nothing but files and folders in it, or nothing.

    ``flat``: folders in it are not allowed either.
    """
    if not os.path.lexists(folder):
        return True
    if not folder.is_dir():
        return False
    try:
        return _is_usable_folder(folder, flat=flat)
    except OSError:
        return not os.access(folder.parent, os.W_OK)


def _is_usable_folder(folder: str | Path, *, flat: bool) -> bool:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                is_usable = not flat and _is_usable_folder(entry.path, flat=flat)
            else:
                is_usable = entry.is_file(follow_symlinks=False) and os.access(entry, os.R_OK)
            if not is_usable:
                return False
    return True
