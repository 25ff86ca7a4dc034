"""Translate errors of SQLite, SQLCipher, tantivy and LanceDB into StorageError.

Either damage, after which the index is rebuilt from the files, or a passing reason such as a full
disk or a missing permission.
"""

import errno
import os
import re
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from codekernel.errors import StorageError
from codekernel.storage.os_errors import (
    TRANSIENT_ERRNOS,
    explain_os_error,
    format_permission_advice,
    format_space_advice,
    is_disk_full,
)


class CatalogDamaged(StorageError):
    """The catalog or another derived database cannot be read; rebuild it from the files."""


class LexicalIndexDamaged(StorageError):
    """The lexical index cannot be read; rebuild it from the catalog."""


class VectorsDamaged(StorageError):
    """The vectors cannot be used; embed the texts again."""


SQLITE_CORRUPT_CODES = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})

# Part of the file cannot be read, or is missing.
_SQLITE_READ_ERROR_CODES = {
    sqlite3.SQLITE_IOERR_READ,
    sqlite3.SQLITE_IOERR_SHORT_READ,
    sqlite3.SQLITE_IOERR_CORRUPTFS,
}

_SQLITE_PERMISSION_CODES = {
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
}

# What SQLite and Python's module for it say of rows and tables that are not as they were written.
_SQLITE_DAMAGE_MESSAGES = ("Could not decode to UTF-8", "no such table", "no such column")

# What a row raises whose bytes have changed; a text is stored with a checksum of its own.
_UNPACK_ERRORS = (zlib.error, UnicodeError)


def get_primary_code(error: BaseException | None) -> int:
    """Return the primary code of an error of SQLite or SQLCipher; 0 if it has none."""
    # An extended code carries its primary one in the low byte.
    return int(getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def get_disk_code(error: BaseException, folder: Path) -> int:
    """Return the primary code; SQLITE_FULL for what a full disk causes under other names."""
    code = get_primary_code(error)
    if code in {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN} and is_disk_full(folder):
        return sqlite3.SQLITE_FULL
    return code


@contextmanager
def translate_sqlite_errors(path: Path) -> Iterator[None]:
    """Within the block, errors of SQLite become StorageError or CatalogDamaged."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explain_sqlite_error(error, path) from error
    except _UNPACK_ERRORS as error:
        raise CatalogDamaged(f"{path} is damaged: {error}") from error


def _explain_sqlite_error(error: sqlite3.Error, path: Path) -> StorageError:
    if (
        get_primary_code(error) in SQLITE_CORRUPT_CODES
        or getattr(error, "sqlite_errorcode", 0) in _SQLITE_READ_ERROR_CODES
        or any(words in str(error) for words in _SQLITE_DAMAGE_MESSAGES)
    ):
        return CatalogDamaged(f"{path} is damaged: {error}")
    code = get_disk_code(error, path.parent)
    if code == sqlite3.SQLITE_FULL:
        advice = format_space_advice(path.parent)
        return StorageError(f"{path} cannot be written, the disk is full: {advice}")
    is_refused = code in _SQLITE_PERMISSION_CODES
    reason = format_permission_advice(path.parent) if is_refused else error
    return StorageError(f"{path} cannot be read or written: {reason}")


_OS_ERROR = re.compile(r"os error (\d+)|Os \{ code: (\d+)")

# On Windows the text has Windows' numbers: access denied, used by another, two kinds of full.
_ERRNO_BY_WINDOWS_CODE = {5: errno.EACCES, 32: errno.EACCES, 39: errno.ENOSPC, 112: errno.ENOSPC}

_TANTIVY_LOCK_BUSY = "LockBusy"

TANTIVY_META_FILE = "meta.json"

_NOT_A_FILE_ERRNOS = {
    errno.EISDIR,
    errno.ENOTDIR,
    errno.ELOOP,
    errno.ENODEV,
    errno.ENXIO,
    errno.EIO,
}

# Panics of Rust, of modules that cannot be imported; the second comes out of a future.
_PANICS = {"PanicException", "RustPanic"}


def translate_tantivy_errors(folder: Path) -> AbstractContextManager[None]:
    """Within the block, errors of tantivy become StorageError or LexicalIndexDamaged."""
    return _translate_engine_errors(folder, _explain_tantivy_error)


def translate_lance_errors(folder: Path) -> AbstractContextManager[None]:
    """Within the block, errors of LanceDB become StorageError or VectorsDamaged."""
    return _translate_engine_errors(folder, _explain_lance_error)


@contextmanager
def _translate_engine_errors(
    folder: Path, explain: Callable[[BaseException, Path], StorageError]
) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        raise explain(error, folder) from error
    except BaseException as error:
        if type(error).__name__ not in _PANICS:
            raise
        raise explain(error, folder) from error


def build_lexical_damage(folder: Path, reason: str) -> LexicalIndexDamaged:
    """Return the error for a lexical index that cannot be used."""
    first_line = reason.partition("\n")[0]
    return LexicalIndexDamaged(
        f"The index of words in {folder} cannot be read ({first_line}); it has to be made anew."
    )


def _explain_tantivy_error(error: BaseException, folder: Path) -> StorageError:
    message = str(error)
    if not isinstance(error, Exception):
        return build_lexical_damage(folder, message)
    if isinstance(error, OSError) and error.errno not in _NOT_A_FILE_ERRNOS:
        return explain_os_error(error, folder)
    if _TANTIVY_LOCK_BUSY in message:
        return StorageError(
            f"The index of words in {folder} is being written by another program:"
            " close the other codekernel that uses this folder, then try again."
        )
    number = _extract_errno(error)
    if (
        number is not None and number in TRANSIENT_ERRNOS
    ):  # the engine does not always say which file
        return explain_os_error(OSError(number, os.strerror(number)), folder / TANTIVY_META_FILE)
    return build_lexical_damage(folder, message if number is None else os.strerror(number))


def _explain_lance_error(error: BaseException, folder: Path) -> StorageError:
    number = _extract_errno(error)
    if number is not None and number in TRANSIENT_ERRNOS:
        return explain_os_error(OSError(number, os.strerror(number)), folder)
    # The text goes on with places in LanceDB's source, which tell a person nothing.
    reason = str(error).partition(", /")[0].splitlines()[0] if str(error) else type(error).__name__
    return VectorsDamaged(f"The vectors in {folder} cannot be read or written ({reason}).")


def _extract_errno(error: BaseException) -> int | None:
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    found = _OS_ERROR.search(str(error))
    if found is None:
        return None
    number = int(found[1] or found[2])
    return _ERRNO_BY_WINDOWS_CODE.get(number, errno.EIO) if os.name == "nt" else number
