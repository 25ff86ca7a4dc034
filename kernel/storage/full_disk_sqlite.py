"""Opening a SQLite database on a disk that takes nothing more, or may not be written.

A database in WAL mode wants two files beside it, -wal and -shm, even to be read. Where they cannot
be made, two ways are left: SQLite's own "unix-excl", which keeps the content of -shm in memory and
the file to this process; and "immutable", for a database whose -wal has nothing in it.
"""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Connection = TypeVar("Connection")

_REFUSED_BY_DISK = {
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
}
# Databases that were last opened for writing as "unix-excl", by their addresses.
_kept_from_others: set[str] = set()
_PRIMARY = 0xFF  # an extended code carries its primary one in the low byte


def open_where_possible(
    path: Path,
    open_address: Callable[[str], Connection],
    errors: type[Exception],
    *,
    read_only: bool,
    usual: str = "",
) -> Connection:
    """Open ``path`` in the usual way, by the address ``usual``, else in one that needs no room.

    ``open_address`` must read something and, where it fails, close what it opened: a connection
    that is left open keeps SQLite from using memory. Raises what it raised the first time.
    """
    address = path.absolute().as_uri()
    try:
        connection = open_address(usual or f"{address}?mode={'ro' if read_only else 'rwc'}")
    except errors as error:
        if getattr(error, "sqlite_errorcode", 0) & _PRIMARY not in _REFUSED_BY_DISK:
            raise
        for fallback in _fallbacks(path, read_only=read_only):
            try:
                connection = open_address(f"{address}?{fallback}")
            except errors:
                continue
            if not read_only:
                _kept_from_others.add(address)
            return connection
        raise
    if not read_only:
        _kept_from_others.discard(address)
    return connection


def keeps_others_out(path: Path) -> bool:
    """Whether a database was opened here so that no other process can read it."""
    return path.absolute().as_uri() in _kept_from_others


def _fallbacks(path: Path, *, read_only: bool) -> list[str]:
    if _size(path) == 0:
        return []
    ways = []
    if os.name == "posix":
        ways.append(f"mode={'ro' if read_only else 'rw'}&vfs=unix-excl")
    if read_only and _size(path.with_name(f"{path.name}-wal")) == 0:
        ways.append("mode=ro&immutable=1")
    return ways


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
