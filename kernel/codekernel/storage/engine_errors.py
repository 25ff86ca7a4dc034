"""Translate errors of SQLite, tantivy and LanceDB into StorageError.

Damaged (rebuild from the files) or transient (disk full, no permission).
"""

import errno
import os
import re
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from codekernel.errors import StorageError
from codekernel.storage.os_errors import (
    TRANSIENT_ERRNOS,
    explain_os_error,
    format_permission_advice,
    format_space_advice,
    is_disk_full,
)

_SQLITE_CORRUPT_CODES = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}

# Part of the file cannot be read, or is not there.
_SQLITE_READ_ERROR_CODES = {
    sqlite3.SQLITE_IOERR_READ,
    sqlite3.SQLITE_IOERR_SHORT_READ,
    sqlite3.SQLITE_IOERR_CORRUPTFS,
}

# What SQLite, or Python's module for it, says of rows and tables that are not as they were written.
_SQLITE_DAMAGE_MESSAGES = ("Could not decode to UTF-8", "no such table", "no such column")

_SQLITE_PRIMARY_CODE_MASK = 0xFF  # an extended code carries its primary one in the low byte

# What a row raises whose bytes have changed; a text is stored with a checksum of its own.
_UNPACK_ERRORS = (zlib.error, UnicodeError)


class CatalogDamaged(StorageError):
    """The catalogue is not a database any more; it must be rebuilt from the files."""


@contextmanager
def translate_sqlite_errors(path: Path) -> Iterator[None]:
    """Within the block, errors of SQLite become StorageError or CatalogueDamaged."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explain_sqlite_error(error, path) from error
    except _UNPACK_ERRORS as error:
        raise CatalogDamaged(f"{path} is damaged: {error}") from error


def _explain_sqlite_error(error: sqlite3.Error, path: Path) -> StorageError:
    extended = getattr(error, "sqlite_errorcode", 0)
    code = extended & _SQLITE_PRIMARY_CODE_MASK
    said = any(words in str(error) for words in _SQLITE_DAMAGE_MESSAGES)
    if code in _SQLITE_CORRUPT_CODES or extended in _SQLITE_READ_ERROR_CODES or said:
        return CatalogDamaged(f"{path} is damaged: {error}")
    refused = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
    if code == sqlite3.SQLITE_FULL or (code in refused and is_disk_full(path.parent)):
        return StorageError(
            f"{path} cannot be written, the disk is full: {format_space_advice(path.parent)}"
        )
    if code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}:
        return StorageError(
            f"{path} cannot be read or written: {format_permission_advice(path.parent)}"
        )
    return StorageError(f"{path} cannot be read or written: {error}")


_TANTIVY_OS_ERROR = re.compile(r"\(os error (\d+)\)|Os \{ code: (\d+)")

_TANTIVY_LOCK_BUSY = "LockBusy"

_TANTIVY_META_FILE = "meta.json"  # the engine does not always say which file

_NOT_A_FILE_ERRNOS = {
    errno.EISDIR,
    errno.ENOTDIR,
    errno.ELOOP,
    errno.ENODEV,
    errno.ENXIO,
    errno.EIO,
}

_TANTIVY_PANIC = "PanicException"  # of a module that cannot be imported


class LexicalIndexDamaged(StorageError):
    """The words of a repository cannot be read as they lie there: make them anew."""


@contextmanager
def translate_tantivy_errors(folder: Path) -> Iterator[None]:
    """Turn what tantivy raises while it works in ``folder`` into a StorageError."""
    try:
        yield
    except OSError as error:
        if error.errno in _NOT_A_FILE_ERRNOS:
            raise build_lexical_damage(folder, error.strerror or str(error)) from error
        raise explain_os_error(error, folder) from error
    except (ValueError, RuntimeError) as error:
        raise _explain_tantivy_error(str(error), folder) from error
    except BaseException as error:
        if type(error).__name__ != _TANTIVY_PANIC:
            raise
        raise build_lexical_damage(folder, str(error)) from error


def build_lexical_damage(folder: Path, reason: str) -> LexicalIndexDamaged:
    """Say that the index in ``folder`` is of no use."""
    first_line = reason.partition("\n")[0]
    return LexicalIndexDamaged(
        f"The index of words in {folder} cannot be read ({first_line}); it has to be made anew."
    )


def _explain_tantivy_error(message: str, folder: Path) -> StorageError:
    if _TANTIVY_LOCK_BUSY in message:
        return StorageError(
            f"The index of words in {folder} is being written by another program:"
            " close the other codekernel that uses this folder, then try again."
        )
    if system := _TANTIVY_OS_ERROR.search(message):
        number = int(system[1] or system[2])
        if number not in TRANSIENT_ERRNOS:  # a folder in the place of a file, or worse
            return build_lexical_damage(folder, os.strerror(number))
        return explain_os_error(OSError(number, os.strerror(number)), folder / _TANTIVY_META_FILE)
    return build_lexical_damage(folder, message)


# Of modules that cannot be imported; the second comes out of a future.
_LANCE_PANICS = {"PanicException", "RustPanic"}

_LANCE_OS_ERROR = re.compile(r"os error (\d+)")

# On Windows the text has Windows' numbers: access denied, used by another, two kinds of full.
_ERRNO_BY_WINDOWS_CODE = {5: errno.EACCES, 32: errno.EACCES, 39: errno.ENOSPC, 112: errno.ENOSPC}


class VectorsDamaged(StorageError):
    """The vectors cannot be used as they lie there; each can be made again from its text."""


@contextmanager
def translate_lance_errors(folder: Path) -> Iterator[None]:
    """Put what LanceDB raises inside into a sentence."""
    try:
        yield
    except (RuntimeError, OSError, ValueError) as error:
        raise explain_lance_error(error, folder) from error
    except BaseException as error:
        if type(error).__name__ not in _LANCE_PANICS:
            raise
        raise explain_lance_error(error, folder) from error


def explain_lance_error(error: BaseException, folder: Path) -> StorageError:
    """Put ``error``, met in the table in ``folder``, into a sentence."""
    number = _extract_errno(error)
    if number is not None and number in TRANSIENT_ERRNOS:
        return explain_os_error(OSError(number, os.strerror(number)), folder)
    # The text goes on with places in LanceDB's source, which tell a person nothing.
    reason = str(error).partition(", /")[0].splitlines()[0] if str(error) else type(error).__name__
    return VectorsDamaged(f"The vectors in {folder} cannot be read or written ({reason}).")


def _extract_errno(error: BaseException) -> int | None:
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    found = _LANCE_OS_ERROR.search(str(error))
    if found is None:
        return None
    number = int(found[1])
    return _ERRNO_BY_WINDOWS_CODE.get(number, errno.EIO) if os.name == "nt" else number
