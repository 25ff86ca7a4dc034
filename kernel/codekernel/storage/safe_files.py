"""Write files atomically (temporary file, fsync, rename), and read or accept regular files only.

So that no pipe or device can block the process.
"""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from codekernel.storage.os_errors import explain_os_error
from codekernel.storage.user_data import FILE_MODE, make_private_parents

_NO_HARDLINK_ERRNOS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS})


def make_temporary_path(target: Path, prefix: str) -> Path:
    """A name beside ``target`` that nobody has."""
    return target.with_name(f"{prefix}{secrets.token_hex(8)}.tmp")


@contextmanager
def write_temporary_file(target: Path, content: bytes, mode: int, prefix: str) -> Iterator[Path]:
    """A file with ``content`` beside ``target``, on the disk; gone after the block."""
    temporary = make_temporary_path(target, prefix)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(temporary, flags, mode)
        with open(descriptor, "wb") as file:  # noqa: PTH123  # a descriptor is not a path
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    finally:
        with suppress(OSError):
            temporary.unlink()


def rename_without_replacing(temporary: Path, target: Path) -> None:
    """Give a file its name; raises FileExistsError if something has it."""
    if os.name == "nt":
        temporary.rename(target)  # refuses to replace on Windows, where links may not exist
        return
    try:
        target.hardlink_to(temporary)
    except OSError as error:
        if error.errno not in _NO_HARDLINK_ERRNOS:
            raise
        # A file system without links (FAT, some shares): the narrow gap is all it offers.
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "exists", str(target)) from error
        temporary.rename(target)


def fsync_folder(folder: Path) -> None:
    """Make a rename survive a power cut, where a folder can be flushed at all."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_text(path: Path, content: str, *, mode: int = FILE_MODE) -> None:
    """Replace the file at ``path`` with ``content`` as UTF-8; line ends stay as they are."""
    write_bytes_atomically(path, content.encode(), mode=mode)


def write_bytes_atomically(path: Path, content: bytes, *, mode: int = FILE_MODE) -> None:
    """Replace the file at ``path``, making its folder if needed; the umask still applies."""
    # A settings file that is a link into someone's dotfiles stays a link.
    target = Path(os.path.realpath(path))
    try:
        make_private_parents(target.parent)
        with write_temporary_file(target, content, mode, f".{target.name}.") as temporary:
            temporary.replace(target)
        fsync_folder(target.parent)
    except OSError as error:
        raise explain_os_error(error, path) from error


def create_file_atomically(path: Path, content: bytes, *, mode: int = FILE_MODE) -> bool:
    """Make the file at ``path``; false, and nothing changed, if there already is one."""
    try:
        with write_temporary_file(path, content, mode, f".{path.name}.") as temporary:
            rename_without_replacing(temporary, path)
        fsync_folder(path.parent)
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

# What the system says where something else than a readable file lies at a path. It is no passing
# failure: trying again changes nothing.
_NOT_REGULAR_ERRNOS = frozenset(
    {errno.EISDIR, errno.ELOOP, errno.ENXIO, errno.ENODEV, errno.EINVAL}
)


class NotRegularFile(OSError):
    """A folder, a pipe, a device or a loop of links lies where a file is expected."""


def open_regular(path: str | Path, *, flags: int = 0, dir_fd: int | None = None) -> int:
    """Return a descriptor for reading. Raises NotRegularFile, or another OSError."""
    try:
        descriptor = os.open(path, _OPEN_FLAGS | flags, dir_fd=dir_fd)
    except OSError as error:
        if error.errno in _NOT_REGULAR_ERRNOS or (os.name == "nt" and os.path.isdir(path)):  # noqa: PTH112
            raise _build_not_regular_error(path) from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _build_not_regular_error(path)
    return descriptor


def read_regular(path: str | Path, *, flags: int = 0, dir_fd: int | None = None) -> bytes:
    """Return the content of a regular file. Raises NotRegularFile, or another OSError."""
    descriptor = open_regular(path, flags=flags, dir_fd=dir_fd)
    with open(descriptor, "rb") as file:  # noqa: PTH123  # a descriptor is not a path
        return file.read()


def _build_not_regular_error(path: str | Path) -> NotRegularFile:
    return NotRegularFile(errno.EISDIR, "is not a regular file", str(path))


WRITER_LOCK_FILE = "writer.lock"

VECTORS_FOLDER = "vectors"

_DATABASE_NAMES = ("catalogue.db", "calls.db")

_DATABASE_FILE_SUFFIXES = ("", "-wal", "-shm", "-journal", ".sums")


def find_misplaced_files(folder: Path) -> Iterator[Path]:
    """What must be a file that can be read and written, and is not; companions come first."""
    for name in (
        WRITER_LOCK_FILE,
        *(f"{db}{end}" for db in _DATABASE_NAMES for end in reversed(_DATABASE_FILE_SUFFIXES)),
    ):
        path = folder / name
        if os.path.lexists(path) and not is_usable_file(path):
            yield path


def is_usable_file(path: Path) -> bool:
    """Whether a file can be opened here, without waiting for anybody."""
    try:
        found = path.stat()
    except OSError:  # a link that leads nowhere, or to itself
        return False
    # What may not be read is damage if it can be moved; otherwise opening it says what to do.
    may_move = os.access(path.parent, os.W_OK)
    return stat.S_ISREG(found.st_mode) and (os.access(path, os.R_OK | os.W_OK) or not may_move)


def is_usable_tree(folder: Path, *, flat: bool = False) -> bool:
    """Whether there is a folder with nothing but files and folders in it, or nothing at all.

    ``flat``: of which none may be a folder.
    """
    if not os.path.lexists(folder):
        return True
    if not folder.is_dir():
        return False
    try:
        return all(_is_usable_entry(entry, flat=flat) for entry in _walk_entries(folder))
    except OSError:
        return not os.access(folder.parent, os.W_OK)


def _is_usable_entry(entry: "os.DirEntry[str]", *, flat: bool) -> bool:
    if entry.is_dir(follow_symlinks=False):
        return not flat
    return entry.is_file(follow_symlinks=False) and os.access(entry.path, os.R_OK)


def _walk_entries(folder: str | Path) -> "Iterator[os.DirEntry[str]]":
    with os.scandir(folder) as entries:
        for entry in entries:
            yield entry
            if entry.is_dir(follow_symlinks=False):
                yield from _walk_entries(entry.path)
