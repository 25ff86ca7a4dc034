"""Files of userData: private to their owner (0700, 0600), written atomically, read if regular.

A write is a temporary file, fsync and rename. A pipe or a device in the place of a file must not
block the process. Errors of the operating system become StorageError with advice for the user.
"""

import errno
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from codekernel.domain.folder_handle import FolderHandle
from codekernel.errors import StorageError

FOLDER_MODE = 0o700

FILE_MODE = 0o600

# Passing reasons, which are not the fault of a file: it is not quarantined.
_QUOTA = getattr(errno, "EDQUOT", errno.ENOSPC)  # Windows has no quota error

TRANSIENT_ERRNOS = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, _QUOTA, errno.EFBIG}
    | {errno.EMFILE, errno.ENFILE, errno.ENOMEM}
)


def explain_os_error(error: OSError, path: Path) -> StorageError:
    """Return ``error``, raised while reading or writing ``path``, as a sentence."""
    reason = error.strerror or type(error).__name__
    unknown = (
        f"cannot be read or written ({reason}): check the disk that holds {path.parent},"
        " or choose another folder with --user-data."
    )
    return StorageError(f"{path} {_describe_errors(path.parent).get(error.errno or 0, unknown)}")


@contextmanager
def translate_os_errors(path: Path) -> Iterator[None]:
    """Within the block, which reads or writes ``path``, an OSError becomes a StorageError."""
    try:
        yield
    except OSError as error:
        raise explain_os_error(error, path) from error


def _describe_errors(folder: Path) -> dict[int, str]:
    full = f"cannot be written, the disk is full: {format_space_advice(folder)}"
    refused = f"cannot be read or written: {format_permission_advice(folder)}"
    file_in_the_way = (
        "cannot be reached, something on the way to it is a file where a folder is needed:"
        " rename that file, or choose another folder with --user-data."
    )
    return {
        errno.ENOSPC: full,
        _QUOTA: full,
        errno.EACCES: refused,
        errno.EPERM: refused,
        errno.EROFS: f"cannot be written: {format_read_only_advice(folder)}",
        errno.EFBIG: (
            "cannot be written, it would be larger than this system lets a file be: raise the"
            " file size limit (ulimit -f) of the account that runs codekernel."
        ),
        errno.ENOTDIR: file_in_the_way,
        errno.EEXIST: file_in_the_way,
        errno.EISDIR: "is a folder where a file is needed: rename that folder.",
        errno.ENOENT: f"does not exist: check that {folder} is still there.",
    }


def format_space_advice(folder: Path) -> str:
    """Say what to do about a full disk."""
    return f"free some space on the disk that holds {folder}, then try again."


def format_permission_advice(folder: Path) -> str:
    """Say who must be able to write where."""
    return (
        f"the account that runs codekernel must be able to read and write in {folder},"
        " and no other program may keep the file to itself."
    )


def format_read_only_advice(folder: Path) -> str:
    """Say what to do about a read-only file system."""
    return (
        f"{folder} lies on a read-only disk. Make the disk writable,"
        " or choose another folder with --user-data."
    )


_GROUP_AND_OTHER_BITS = stat.S_IRWXG | stat.S_IRWXO


def make_private_folder(folder: Path) -> None:
    """Make ``folder`` with mode 0700, or remove other accounts' access. Raises StorageError."""
    with translate_os_errors(folder):
        make_private_parents(folder)
        _restrict_mode(folder, folder.stat())


def make_private_parents(folder: Path) -> None:
    """Make ``folder`` and what is missing above it with mode 0700; raises OSError."""
    missing = [folder]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for each in reversed(missing):
        each.mkdir(mode=FOLDER_MODE, exist_ok=True)


def create_private_file(path: Path) -> None:
    """Make an empty file with mode 0600, or remove other accounts' access; ignore errors.

    For libraries that would create it with the umask's mode; they report errors themselves. SQLite
    gives -wal and -shm the mode of the database. An existing database is not opened: closing it
    would release the locks that this process has on it.
    """
    with suppress(OSError):
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, FILE_MODE))
        except FileExistsError:
            _restrict_mode(path, path.stat())


def restrict_tree_to_owner(folder: Path) -> None:
    """Remove other accounts' access to everything below ``folder``, which may be changing.

    What tantivy and LanceDB create has the umask's mode; the folder around it is private, but a
    copy or a backup of it would be readable.
    """
    if os.name == "nt":
        return
    with suppress(OSError):  # gone, or of another account
        for where, folders, files in os.walk(folder):
            for name in (*folders, *files):
                with suppress(OSError):
                    path = Path(where, name)
                    _restrict_mode(path, path.lstat())


def _restrict_mode(path: Path, seen: os.stat_result) -> None:
    if os.name == "nt" or not seen.st_mode & _GROUP_AND_OTHER_BITS or stat.S_ISLNK(seen.st_mode):
        return
    with suppress(PermissionError):  # a folder of another account
        path.chmod(stat.S_IMODE(seen.st_mode) & ~_GROUP_AND_OTHER_BITS)


_NO_HARDLINK_ERRNOS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS})


def make_temporary_name(prefix: str) -> str:
    """Return a file name that is not taken."""
    return f"{prefix}{os.urandom(8).hex()}.tmp"


# Names of replace_file_atomically and create_file_atomically; users have no file of such a name.
_TEMPORARY_NAME = re.compile(r"\..+\.[0-9a-f]{16}\.tmp")

# No write takes as long.
MAX_TEMPORARY_AGE_SECONDS = 3600.0


# What a file is to hold, at once or in pieces.
FileContent: TypeAlias = bytes | Iterable[bytes]


def remove_stale_temporaries(folder: Path) -> None:
    """Delete the temporary files in ``folder`` whose processes were killed. Raises OSError."""
    oldest = time.time() - MAX_TEMPORARY_AGE_SECONDS
    for entry in folder.iterdir():
        if _TEMPORARY_NAME.fullmatch(entry.name):
            with suppress(FileNotFoundError):  # its writer has ended since
                if entry.lstat().st_mtime < oldest:
                    entry.unlink()


@contextmanager
def write_temporary_file(
    folder: FolderHandle,
    temporary: str,
    content: FileContent,
    mode: int,
    like: os.stat_result | None = None,
) -> Iterator[os.stat_result]:
    """Write a file and flush it to the disk; yield its status, and remove it after the block.

    It gets the owner and mode of ``like``. Raises OSError.
    """
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        descriptor = folder.open_file(temporary, flags, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.writelines((content,) if isinstance(content, bytes) else content)
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


def replace_file_atomically(folder: FolderHandle, name: str, content: FileContent) -> None:
    """Replace a file of an open folder, whole or not at all; raises OSError."""
    temporary = make_temporary_name(f".{name}.")
    with write_temporary_file(folder, temporary, content, FILE_MODE):
        folder.rename(temporary, folder, name)
    with suppress(OSError):  # not every folder can be flushed
        folder.flush()


def fsync_folder(folder: Path) -> None:
    """Make a rename survive a power cut, where a folder can be flushed at all."""
    with suppress(OSError), FolderHandle.open(folder, follow=True) as handle:
        handle.flush()


def write_bytes_atomically(path: Path, content: FileContent) -> None:
    """Replace the file at ``path``, making its folder if needed; the umask still applies."""
    # A settings file that is a link into someone's dotfiles stays a link.
    target = Path(os.path.realpath(path))
    with translate_os_errors(path):
        make_private_parents(target.parent)
        with FolderHandle.open(target.parent, follow=True) as folder:
            replace_file_atomically(folder, target.name, content)


def create_file_atomically(path: Path, content: bytes) -> bool:
    """Make the file at ``path``; return false, and change nothing, if there already is one."""
    temporary = make_temporary_name(f".{path.name}.")
    with translate_os_errors(path):
        try:
            with FolderHandle.open(path.parent, follow=True) as folder:
                with write_temporary_file(folder, temporary, content, FILE_MODE):
                    rename_without_replacing(folder, temporary, path.name)
                with suppress(OSError):
                    folder.flush()
        except FileExistsError:
            return False
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
        if error.errno in _NOT_REGULAR_ERRNOS or (os.name == "nt" and Path(path).is_dir()):
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


def add_suffix(path: Path, suffix: str) -> Path:
    """Return the path of a companion, such as ``-wal``."""
    return path.with_name(path.name + suffix)


def read_size(path: Path) -> int:
    """Return the size of a file; 0 if there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def measure_folder(folder: Path) -> int:
    """Return the bytes of the files below ``folder``, which may be changing."""
    total, waiting = 0, [os.fspath(folder)]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    with suppress(OSError):
                        total += entry.stat(follow_symlinks=False).st_size
    return total


def is_usable_file(path: Path) -> bool:
    """Return whether a file can be opened here without blocking."""
    try:
        found = path.stat()
    except OSError:  # a link that leads nowhere, or to itself
        return False
    # What may not be read is damage if it can be moved; otherwise opening it says what to do.
    may_move = os.access(path.parent, os.W_OK)
    return stat.S_ISREG(found.st_mode) and (os.access(path, os.R_OK | os.W_OK) or not may_move)


def is_misplaced(path: Path) -> bool:
    """Return whether something lies at ``path`` that is not a usable file."""
    return os.path.lexists(path) and not is_usable_file(path)


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
