"""An open SQLCipher database: how it is keyed, checked and configured."""

from contextlib import closing
from pathlib import Path

from sqlcipher3 import dbapi2

from kernel.storage.cipher_failures import DamagedPageError, is_unreadable
from kernel.storage.database import Database
from kernel.storage.full_disk_sqlite import open_where_possible
from kernel.storage.migrations import migrate, refuse_newer
from kernel.storage.private_folder import create_private_file
from kernel.storage.vault_key import VaultKey


def open_database(path: Path, key: VaultKey, *, busy_timeout_ms: int) -> Database:
    """Open or make the database at ``path``; raises ``dbapi2.Error`` and closes what it opened."""
    create_private_file(path)
    _probe(path, key, busy_timeout_ms)

    def open_address(address: str) -> Database:
        database = _connect(address, key, busy_timeout_ms)
        try:
            _read_schema(database)
        except BaseException:
            database.close()
            raise
        return database

    try:
        database = open_where_possible(
            path, open_address, dbapi2.Error, read_only=False, usual=str(path)
        )
    except dbapi2.Error as error:
        if is_unreadable(error):
            raise
        # On a disk that may not be written, repositories and keys can still be read.
        try:
            database = open_where_possible(path, open_address, dbapi2.Error, read_only=True)
        except dbapi2.Error:
            raise error from None
        database.execute("PRAGMA foreign_keys = ON")
        return database
    try:
        refuse_newer(database, path)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("PRAGMA foreign_keys = ON")
        # A damaged frame ends the -wal file without a word, and what was committed after it is
        # gone; so nothing stays there alone. The vault is written a few times an hour.
        database.execute("PRAGMA wal_autocheckpoint = 1")
        migrate(database)
        _check_pages(database)
    except BaseException:
        database.close()
        raise
    return database


def _probe(path: Path, key: VaultKey, busy_timeout_ms: int) -> None:
    """Try the key on a read-only connection.

    A writing connection moves the -wal file into the database when it closes, even when its key
    is wrong; a file that cannot be read must stay exactly as it was found.
    """
    if path.stat().st_size == 0:
        return
    try:
        with closing(connect_read_only(path, key, busy_timeout_ms)) as database:
            _read_schema(database)
    except dbapi2.Error as error:
        # Anything else may be due to reading only, or to a Windows share, whose address SQLite
        # does not take; the real opening will tell.
        if is_unreadable(error):
            raise


def connect_read_only(path: Path, key: VaultKey, busy_timeout_ms: int = 0) -> Database:
    """A connection that leaves the file and its companions as they are."""
    return _connect(f"{path.as_uri()}?mode=ro", key, busy_timeout_ms)


def is_unused(path: Path) -> bool:
    """Whether there is no database yet, or only the empty file that one begins as."""
    return not path.exists() or path.stat().st_size == 0


def _connect(address: str, key: VaultKey, busy_timeout_ms: int) -> Database:
    connection: Database = dbapi2.connect(
        address,
        timeout=busy_timeout_ms / 1000,
        isolation_level=None,  # transactions begin and end where vault.py says so
        check_same_thread=False,  # vault.py lets one thread in at a time
        uri=address.startswith("file:"),
    )
    try:
        # Else SQLCipher writes "ERROR CORE" lines to stderr for every wrong key.
        connection.execute("PRAGMA cipher_log_level = NONE")
        connection.execute(f"PRAGMA key = \"x'{key.raw.hex()}'\"")
    except BaseException:
        connection.close()
        raise
    return connection


def _check_pages(database: Database) -> None:
    """Look at every page, because a damaged one may not be met for months; 5 ms per MB.

    The check reads the file as it lies there: a page that is only half copied from the -wal file,
    by a process that was killed or by one at work, looks damaged. So everything is copied first.
    """
    if _has_damaged_page(database):
        row = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if row is not None and row[0] == 0 and _has_damaged_page(database):
            raise DamagedPageError


def _has_damaged_page(database: Database) -> bool:
    return bool(database.execute("PRAGMA cipher_integrity_check").fetchall())


def _read_schema(database: Database) -> None:
    # The key is not tried before the first page is read.
    database.execute("SELECT name, sql FROM sqlite_master").fetchall()
    database.execute("PRAGMA user_version").fetchall()
