"""Files that are there whole or not at all: written beside, flushed, then renamed into place."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kernel.storage.failures import explain


def write_text(path: Path, content: str, *, mode: int = 0o644) -> None:
    """Replace the file at ``path`` with ``content`` as UTF-8; line ends stay as they are."""
    write_bytes(path, content.encode(), mode=mode)


def write_bytes(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Replace the file at ``path``, making its folder if needed; the umask still applies."""
    # A settings file that is a link into someone's dotfiles stays a link.
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _written_beside(target, content, mode) as temporary:
            temporary.replace(target)
        _flush_folder(target.parent)
    except OSError as error:
        raise explain(error, path) from error


def create_bytes(path: Path, content: bytes, *, mode: int = 0o644) -> bool:
    """Make the file at ``path``; false, and nothing changed, if there already is one."""
    try:
        with _written_beside(path, content, mode) as temporary:
            _put_exclusively(temporary, path)
        _flush_folder(path.parent)
    except FileExistsError:
        return False
    except OSError as error:
        raise explain(error, path) from error
    return True


@contextmanager
def _written_beside(target: Path, content: bytes, mode: int) -> Iterator[Path]:
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with open(descriptor, "wb") as file:  # noqa: PTH123  # a descriptor is not a path
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    finally:
        with suppress(OSError):
            temporary.unlink()


def _put_exclusively(temporary: Path, target: Path) -> None:
    if os.name == "nt":
        temporary.rename(target)  # refuses to replace on Windows, where links may not exist
        return
    try:
        target.hardlink_to(temporary)
    except OSError as error:
        if error.errno not in {errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS}:
            raise
        # A file system without links (FAT, some shares): the narrow gap is all it offers.
        if target.exists():
            raise FileExistsError(errno.EEXIST, "exists", str(target)) from error
        temporary.rename(target)


def _flush_folder(folder: Path) -> None:
    # The rename survives a power cut only once the folder is on disk; Windows and some
    # shares cannot flush a folder, and then the rename is as safe as it gets.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
