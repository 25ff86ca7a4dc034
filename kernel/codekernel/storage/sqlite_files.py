"""Connections to SQLite databases, also on a full or read-only disk, and their transactions."""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from codekernel.storage.engine_errors import get_primary_code
from codekernel.storage.quarantine import add_suffix

# Below what any SQLite takes as the parameters of one statement.
MAX_SQL_PARAMETERS = 500

# Per connection; the hot pages of a large repository's chunk table.
PAGE_CACHE_KIB = 16 * 1024

Value = TypeVar("Value")


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


def query_in(
    database: sqlite3.Connection, statement: str, values: Sequence[object]
) -> Iterator[tuple[Any, ...]]:
    """Run a statement that ends in ``IN`` with any number of values."""
    for portion in split_parameters(values):
        marks = ",".join("?" * len(portion))
        yield from database.execute(f"{statement} ({marks})", portion).fetchall()


def split_parameters(values: Sequence[Value]) -> Iterator[Sequence[Value]]:
    """Split values into as many as one statement takes."""
    for start in range(0, len(values), MAX_SQL_PARAMETERS):
        yield values[start : start + MAX_SQL_PARAMETERS]


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
    if _size_or_zero(path) == 0:
        return []
    ways = []
    if os.name == "posix":
        ways.append(f"mode={'ro' if read_only else 'rw'}&vfs=unix-excl")
    if read_only and _size_or_zero(add_suffix(path, "-wal")) == 0:
        ways.append("mode=ro&immutable=1")
    return ways


def _size_or_zero(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
