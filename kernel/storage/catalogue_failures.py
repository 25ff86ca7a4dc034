"""What SQLite says when the catalogue cannot be read or written, as our own errors."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernel.errors import StorageError
from kernel.storage.failures import advice_on_permission, advice_on_space, is_full

_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_PRIMARY = 0xFF  # an extended code carries its primary one in the low byte


class CatalogueDamaged(StorageError):
    """The catalogue is not a database any more; it must be rebuilt from the files."""


@contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Within the block, errors of SQLite become StorageError or CatalogueDamaged."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explained(error, path) from error


def _explained(error: sqlite3.Error, path: Path) -> StorageError:
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
    if code in _DAMAGED:
        return CatalogueDamaged(f"{path} is damaged: {error}")
    refused = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
    if code == sqlite3.SQLITE_FULL or (code in refused and is_full(path.parent)):
        return StorageError(
            f"{path} cannot be written, the disk is full: {advice_on_space(path.parent)}"
        )
    if code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}:
        return StorageError(
            f"{path} cannot be read or written: {advice_on_permission(path.parent)}"
        )
    return StorageError(f"{path} cannot be read or written: {error}")
