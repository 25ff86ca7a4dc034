"""Files in <repository>/.PocketRAG/conversation/, where an older front end reads its history.

Nothing else of a repository can be reached by these functions: each folder on the way is opened
without following a link, and what is in it relative to that.
"""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kernel.errors import StorageError
from kernel.storage.failures import explain
from kernel.storage.regular_file import NotRegularFile, read_regular

FOLDERS = (".PocketRAG", "conversation")
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | getattr(os, "O_BINARY", 0)
_HAS_DIR_FD = os.open in os.supports_dir_fd and bool(_NO_FOLLOW)


class MirrorRefused(StorageError):
    """Something on the way to the mirror leads out of the repository, or is no folder."""


def write_mirror(root: Path, name: str, content: bytes) -> None:
    """Replace a file of the mirror, whole or not at all. Raises MirrorRefused, StorageError."""
    temporary = f".{name}.{secrets.token_hex(8)}.tmp"
    with _folder(root, make=True) as (where, dir_fd):
        try:
            descriptor = os.open(_at(where, temporary), _WRITE, 0o600, dir_fd=dir_fd)
            with open(descriptor, "wb") as file:  # noqa: PTH123  # a descriptor is not a path
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if dir_fd is None:
                os.replace(_at(where, temporary), _at(where, name))  # noqa: PTH105
            else:
                os.replace(temporary, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
        except OSError as error:
            with suppress(OSError):
                os.unlink(_at(where, temporary), dir_fd=dir_fd)
            raise explain(error, _path(root, name)) from error


def read_mirror(root: Path, name: str) -> bytes | None:
    """Return a file of the mirror; None if there is none that can be read."""
    try:
        with _folder(root, make=False) as (where, dir_fd):
            return read_regular(_at(where, name), flags=_NO_FOLLOW, dir_fd=dir_fd)
    except (FileNotFoundError, NotRegularFile, MirrorRefused):
        return None
    except OSError as error:
        raise explain(error, _path(root, name)) from error


def remove_mirror(root: Path, name: str) -> None:
    """Delete a file of the mirror, if it is there. Raises StorageError."""
    try:
        with _folder(root, make=False) as (where, dir_fd):
            os.unlink(_at(where, name), dir_fd=dir_fd)
    except (FileNotFoundError, MirrorRefused):
        return
    except OSError as error:
        raise explain(error, _path(root, name)) from error


def _path(root: Path, name: str) -> Path:
    return root.joinpath(*FOLDERS, name)


def _at(where: str, name: str) -> str:
    return os.path.join(where, name) if where else name  # noqa: PTH118


@contextmanager
def _folder(root: Path, *, make: bool) -> Iterator[tuple[str, int | None]]:
    """The folder of the mirror, as a path or relative to a descriptor. Raises OSError."""
    if not _HAS_DIR_FD:
        yield _checked_folder(root, make=make), None
        return
    descriptor = os.open(root, _FOLDER)
    try:
        for part in FOLDERS:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=descriptor)
            descriptor = _entered(root, descriptor, part)
        yield "", descriptor
    finally:
        os.close(descriptor)


def _entered(root: Path, descriptor: int, part: str) -> int:
    try:
        inner = os.open(part, _FOLDER | _NO_FOLLOW, dir_fd=descriptor)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}:
            raise _refused(root) from error
        raise
    os.close(descriptor)
    return inner


def _checked_folder(root: Path, *, make: bool) -> str:
    """Where the system cannot open relative to a folder: what was reached must be inside."""
    folder = root.joinpath(*FOLDERS)
    if make:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if Path(os.path.realpath(folder)) != Path(os.path.realpath(root)).joinpath(*FOLDERS):
        raise _refused(root)
    return str(folder)


def _refused(root: Path) -> MirrorRefused:
    return MirrorRefused(
        f"{root.joinpath(*FOLDERS)} is a link, or no folder: conversations are not mirrored there."
    )
