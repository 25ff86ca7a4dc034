"""The steps by which a file is there whole or not at all: beside it, flushed, put in its place."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS})


def temporary_name(target: Path, prefix: str) -> Path:
    """A name beside ``target`` that nobody has."""
    return target.with_name(f"{prefix}{secrets.token_hex(8)}.tmp")


@contextmanager
def written_beside(target: Path, content: bytes, mode: int, prefix: str) -> Iterator[Path]:
    """A file with ``content`` beside ``target``, on the disk; gone after the block."""
    temporary = temporary_name(target, prefix)
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


def put_exclusively(temporary: Path, target: Path) -> None:
    """Give a file its name; raises FileExistsError if something has it."""
    if os.name == "nt":
        temporary.rename(target)  # refuses to replace on Windows, where links may not exist
        return
    try:
        target.hardlink_to(temporary)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # A file system without links (FAT, some shares): the narrow gap is all it offers.
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "exists", str(target)) from error
        temporary.rename(target)


def flush_folder(folder: Path) -> None:
    """Make a rename survive a power cut, where a folder can be flushed at all."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
