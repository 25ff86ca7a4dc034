"""What SQLite says when the catalogue cannot be read or written, as our own errors."""

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernel.errors import StorageError
from kernel.storage.failures import advice_on_permission, advice_on_space, is_full

_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
# Part of the file cannot be read, or is not there.
_UNREADABLE = {
    sqlite3.SQLITE_IOERR_READ,
    sqlite3.SQLITE_IOERR_SHORT_READ,
    sqlite3.SQLITE_IOERR_CORRUPTFS,
}
# What SQLite, or Python's module for it, says of rows and tables that are not as they were written.
_SAID_OF_DAMAGE = ("Could not decode to UTF-8", "no such table", "no such column")
_PRIMARY = 0xFF  # an extended code carries its primary one in the low byte
# What a row raises whose bytes have changed; a text is stored with a checksum of its own.
_UNPACKING = (zlib.error, UnicodeError)


class CatalogueDamaged(StorageError):
    """The catalogue is not a database any more; it must be rebuilt from the files."""


@contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Within the block, errors of SQLite become StorageError or CatalogueDamaged."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explained(error, path) from error
    except _UNPACKING as error:
        raise CatalogueDamaged(f"{path} is damaged: {error}") from error


def _explained(error: sqlite3.Error, path: Path) -> StorageError:
    extended = getattr(error, "sqlite_errorcode", 0)
    code = extended & _PRIMARY
    said = any(words in str(error) for words in _SAID_OF_DAMAGE)
    if code in _DAMAGED or extended in _UNREADABLE or said:
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
