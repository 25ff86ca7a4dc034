"""The SQLCipher database behind the vault.

Connections, schema migrations, page checks, and its errors explained.
"""

import sqlite3
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from sqlcipher3 import dbapi2

from codekernel.errors import StorageError, VaultUnavailable
from codekernel.storage.engines import (
    SQLITE_CORRUPT_CODES,
    begin_write,
    close_on_error,
    get_disk_code,
    get_primary_code,
    open_with_fallbacks,
    read_user_version,
)
from codekernel.storage.safe_files import (
    create_private_file,
    format_permission_advice,
    format_read_only_advice,
    format_space_advice,
)
from codekernel.storage.vault.vault_key import VaultKey

DatabaseRow: TypeAlias = tuple[Any, ...]


# A connection of SQLCipher, whose module has the API of sqlite3 and no types.
DatabaseConnection: TypeAlias = sqlite3.Connection


MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # AUTOINCREMENT, because an id names an index folder and must never come back.
        """CREATE TABLE repository (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT UNIQUE NOT NULL,
            path TEXT NOT NULL
        )""",
        """CREATE TABLE api_key (
            name TEXT PRIMARY KEY,
            api_key TEXT NOT NULL
        )""",
        """CREATE TABLE usage (
            repo_id INTEGER NOT NULL REFERENCES repository(id) ON DELETE CASCADE,
            model_name TEXT NOT NULL,
            day TEXT NOT NULL,
            input_tokens INTEGER NOT NULL,
            output_tokens INTEGER NOT NULL,
            PRIMARY KEY (repo_id, model_name, day)
        )""",
    ),
    (
        # What was added to usage already, so that a turn found unfinished is not counted twice.
        "CREATE TABLE usage_receipt (receipt TEXT PRIMARY KEY)",
    ),
)


def reject_newer_schema(database: DatabaseConnection, path: Path) -> None:
    """Raise VaultUnavailable for a database of a newer schema."""
    version = read_user_version(database)
    if version > len(MIGRATIONS):
        raise VaultUnavailable(
            f"The vault {path} was made by a newer codekernel (schema {version}, this version knows"
            f" {len(MIGRATIONS)}). It was not touched: update codekernel, or choose another folder"
            " with --user-data."
        )


def migrate(database: DatabaseConnection, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> None:
    """Run the migrations that are missing, each whole or not at all."""
    for number, statements in enumerate(migrations, start=1):
        if read_user_version(database) >= number:
            continue
        with begin_write(database):
            for statement in statements:
                database.execute(statement)
            database.execute(f"PRAGMA user_version = {number}")


_IN_USE_MESSAGE = (
    "another process is writing to it: try again in a moment, and if it stays so,"
    " end the other codekernel that uses the same folder."
)


class DamagedPageError(dbapi2.DatabaseError):  # type: ignore[misc]  # the library has no types
    """A page does not have the content that was written to it."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


def is_unreadable_error(error: Any) -> bool:
    """Return whether the key is wrong or the file damaged, which SQLCipher cannot tell apart."""
    return get_primary_code(error) in SQLITE_CORRUPT_CODES


def explain_sqlcipher_error(error: Any, path: Path) -> StorageError:
    """Explain a ``dbapi2.Error`` of the database at ``path`` in one sentence."""
    folder = path.parent
    code = get_disk_code(error, folder)
    if code in SQLITE_CORRUPT_CODES:
        return VaultUnavailable(
            f"The vault {path} is damaged and part of it cannot be read. "
            f"{describe_replacement(path)}"
        )
    sentences = {
        sqlite3.SQLITE_FULL: f"the disk is full: {format_space_advice(folder)}",
        sqlite3.SQLITE_BUSY: _IN_USE_MESSAGE,
        sqlite3.SQLITE_LOCKED: _IN_USE_MESSAGE,
        sqlite3.SQLITE_READONLY: f"it cannot be written: {format_read_only_advice(folder)}",
        sqlite3.SQLITE_CANTOPEN: f"it cannot be opened: {format_permission_advice(folder)}",
        sqlite3.SQLITE_PERM: f"it cannot be opened: {format_permission_advice(folder)}",
        sqlite3.SQLITE_IOERR: (
            "the disk failed while reading or writing: check that the disk that holds"
            f" {folder} is there, healthy and not full, then try again."
        ),
    }
    kind = getattr(error, "sqlite_errorname", None) or type(error).__name__
    sentence = sentences.get(
        code, f"the database refused the work ({kind}): try again, and report it if it stays so."
    )
    return StorageError(f"The vault {path} could not be used, {sentence}")


def describe_replacement(path: Path) -> str:
    """Say how to continue when the file itself is damaged."""
    return (
        "Nothing was overwritten. Stop codekernel, then put the file back from a backup, or move"
        f" {path.name} and the {path.name}-wal beside it out of {path.parent}: codekernel then"
        " starts an empty vault, and repositories and API keys are entered again."
    )


def open_encrypted_database(
    path: Path, key: VaultKey, *, busy_timeout_ms: int
) -> DatabaseConnection:
    """Open or make the database at ``path``; raises ``dbapi2.Error``."""
    create_private_file(path)
    _check_key(path, key, busy_timeout_ms)
    open_address = partial(_connect_encrypted, key=key, busy_timeout_ms=busy_timeout_ms)
    try:
        database = open_with_fallbacks(
            path, open_address, dbapi2.Error, read_only=False, usual_address=str(path)
        )
    except dbapi2.Error as error:
        if is_unreadable_error(error):
            raise
        # On a disk that may not be written, repositories and keys can still be read.
        try:
            database = open_with_fallbacks(path, open_address, dbapi2.Error, read_only=True)
        except dbapi2.Error:
            raise error from None
        database.execute("PRAGMA foreign_keys = ON")
        return database
    with close_on_error(database):
        reject_newer_schema(database, path)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("PRAGMA foreign_keys = ON")
        # A damaged frame ends the -wal file silently, and what was committed after it is gone; so
        # nothing stays there alone. The vault is written a few times an hour.
        database.execute("PRAGMA wal_autocheckpoint = 1")
        migrate(database)
        _check_pages(database)
    return database


def _check_key(path: Path, key: VaultKey, busy_timeout_ms: int) -> None:
    """Try the key on a read-only connection.

    A writing connection moves the -wal file into the database when it closes, even when its key
    is wrong; a file that cannot be read must stay exactly as it was found.
    """
    if path.stat().st_size == 0:
        return
    try:
        connect_read_only(path, key, busy_timeout_ms).close()
    except dbapi2.Error as error:
        # Anything else may be due to reading only, or to a Windows share, whose address SQLite
        # does not take; the real opening reports it.
        if is_unreadable_error(error):
            raise


def connect_read_only(path: Path, key: VaultKey, busy_timeout_ms: int = 0) -> DatabaseConnection:
    """Return a connection that does not change the file and its companions."""
    return _connect_encrypted(f"{path.as_uri()}?mode=ro", key, busy_timeout_ms)


def _connect_encrypted(address: str, key: VaultKey, busy_timeout_ms: int) -> DatabaseConnection:
    connection: DatabaseConnection = dbapi2.connect(
        address,
        timeout=busy_timeout_ms / 1000,
        isolation_level=None,  # transactions are explicit
        check_same_thread=False,  # the vault has a lock
        uri=address.startswith("file:"),
    )
    with close_on_error(connection):
        # Else SQLCipher writes "ERROR CORE" lines to stderr for every wrong key.
        connection.execute("PRAGMA cipher_log_level = NONE")
        connection.execute(f"PRAGMA key = \"x'{key.raw.hex()}'\"")
        # The key is not tried before the first page is read.
        connection.execute("SELECT name, sql FROM sqlite_master").fetchall()
        read_user_version(connection)
    return connection


def _check_pages(database: DatabaseConnection) -> None:
    """Check every page, because a damaged one may not be read for months; 5 ms per MB.

    The check reads the file as it lies there: a page that is only half copied from the -wal file,
    by a process that was killed or by one at work, looks damaged. So everything is copied first.
    """
    if _has_damaged_page(database):
        row = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if row is not None and row[0] == 0 and _has_damaged_page(database):
            raise DamagedPageError


def _has_damaged_page(database: DatabaseConnection) -> bool:
    return bool(database.execute("PRAGMA cipher_integrity_check").fetchall())
