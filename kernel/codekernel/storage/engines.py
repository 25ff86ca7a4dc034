"""The storage engines SQLite, SQLCipher, tantivy and LanceDB, and their errors.

An error is either damage, after which the index is rebuilt from the files, or a passing reason
such as a full disk or a missing permission. SQLite is opened also on a full or read-only disk.
"""

import errno
import os
import re
import shutil
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeVar

from codekernel.errors import StorageError
from codekernel.storage.safe_files import (
    TRANSIENT_ERRNOS,
    add_suffix,
    explain_os_error,
    format_permission_advice,
    format_space_advice,
    read_size,
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

_SQLITE_PERMISSION_CODES = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}

# What SQLite and Python's module for it say of rows and tables that are not as they were written.
_SQLITE_DAMAGE_MESSAGES = (
    "Could not decode to UTF-8",
    "no such table",
    "no such column",
    "unsupported file format",
)

# What a row raises whose bytes have changed; a text is stored with a checksum of its own.
_UNPACK_ERRORS = (zlib.error, UnicodeError)


# SQLite starts with a shared memory of this size; with less space nothing can be opened.
MIN_FREE_BYTES = 64 * 1024


def is_disk_full(folder: Path) -> bool:
    """Return whether the disk of a folder is full; libraries report it under other names."""
    try:
        if shutil.disk_usage(folder).free < MIN_FREE_BYTES:
            return True
        found = os.statvfs(folder) if hasattr(os, "statvfs") else None
    except OSError:
        return False
    return found is not None and found.f_files > 0 and found.f_favail == 0  # 0 of 0: no limit


def require_disk_space(folder: Path) -> None:
    """Raise StorageError if the disk is full, before a commit that must not be half done."""
    if is_disk_full(folder):
        raise explain_os_error(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), folder)


def is_unwritable(folder: Path) -> bool:
    """Return whether the disk of a folder, which need not exist, is full or read-only."""
    there = next((place for place in (folder, *folder.parents) if place.is_dir()), folder)
    return is_disk_full(there) or not os.access(there, os.W_OK)


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

_NOT_A_FILE_ERRNOS = frozenset(
    {errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.ENODEV, errno.ENXIO, errno.EIO}
)

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
    except BaseException as error:
        is_panic = type(error).__name__ in _PANICS
        if not is_panic and not isinstance(error, OSError | ValueError | RuntimeError):
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
    if number in TRANSIENT_ERRNOS:  # the engine does not always say which file
        return explain_os_error(OSError(number, os.strerror(number)), folder / TANTIVY_META_FILE)
    return build_lexical_damage(folder, os.strerror(number) if number else message)


def _explain_lance_error(error: BaseException, folder: Path) -> StorageError:
    number = _extract_errno(error)
    if number in TRANSIENT_ERRNOS:
        return explain_os_error(OSError(number, os.strerror(number)), folder)
    # The text goes on with places in LanceDB's source, which tell a person nothing.
    reason = str(error).partition(", /")[0].splitlines()[0] if str(error) else type(error).__name__
    return VectorsDamaged(f"The vectors in {folder} cannot be read or written ({reason}).")


def _extract_errno(error: BaseException) -> int:
    """Return the number of the operating system's error; 0 if it is none of its errors."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    found = _OS_ERROR.search(str(error))
    if found is None:
        return 0
    number = int(found[1] or found[2])
    return _ERRNO_BY_WINDOWS_CODE.get(number, errno.EIO) if os.name == "nt" else number


# Per connection; the hot pages of a large repository's chunk table.
PAGE_CACHE_KIB = 16 * 1024


def connect_sqlite(address: str, timeout_seconds: float) -> sqlite3.Connection:
    """Return a connection that any thread may use, one at a time, without transactions of its own.

    Nothing is read yet.
    """
    database = sqlite3.connect(
        address, uri=True, timeout=timeout_seconds, isolation_level=None, check_same_thread=False
    )
    database.execute(f"PRAGMA cache_size = -{PAGE_CACHE_KIB}")
    return database


@contextmanager
def close_on_error(database: sqlite3.Connection) -> Iterator[None]:
    """Close the connection if the block, which prepares it, fails."""
    try:
        yield
    except BaseException:
        database.close()
        raise


def read_user_version(database: sqlite3.Connection) -> int:
    """Return the number of the format that a database was written with; 0 if it is new."""
    (version,) = database.execute("PRAGMA user_version").fetchone()
    return int(version)


def encode_column(text: str) -> str | bytes:
    """Return what SQLite stores for ``text``, which may have lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def decode_column(value: str | bytes) -> str:
    """Return the text that ``encode_column`` was given."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


@contextmanager
def begin_write(database: sqlite3.Connection) -> Iterator[None]:
    """Commit what is written within the block, or roll it back; SQLCipher's connections too."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def read_file_identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode of the file at a path; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


ConnectionT = TypeVar("ConnectionT")

_DISK_ERROR_CODES = {
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
}

# Databases that were last opened for writing as "unix-excl", by their addresses.
_opened_exclusively: set[str] = set()


def open_with_fallbacks(
    path: Path,
    open_address: Callable[[str], ConnectionT],
    errors: type[Exception],
    *,
    read_only: bool,
    usual_address: str = "",
) -> ConnectionT:
    """Open ``path`` by its usual address, else in a way that needs no free space.

    ``open_address`` must read something and, where it fails, close what it opened: a connection
    that is left open keeps SQLite from using memory. Raises what it raised the first time.
    """
    address = path.absolute().as_uri()
    try:
        connection = open_address(usual_address or f"{address}?mode={'ro' if read_only else 'rwc'}")
    except errors as error:
        if get_primary_code(error) not in _DISK_ERROR_CODES:
            raise
        for fallback in _list_fallbacks(path, read_only=read_only):
            try:
                connection = open_address(f"{address}?{fallback}")
            except errors:
                continue
            if not read_only:
                _opened_exclusively.add(address)
            return connection
        raise
    if not read_only:
        _opened_exclusively.discard(address)
    return connection


def is_opened_exclusively(path: Path) -> bool:
    """Return whether this process opened a database so that no other can read it."""
    return path.absolute().as_uri() in _opened_exclusively


def _list_fallbacks(path: Path, *, read_only: bool) -> list[str]:
    if read_size(path) == 0:
        return []
    ways = []
    if os.name == "posix":
        ways.append(f"mode={'ro' if read_only else 'rw'}&vfs=unix-excl")
    if read_only and read_size(add_suffix(path, "-wal")) == 0:
        ways.append("mode=ro&immutable=1")
    return ways
