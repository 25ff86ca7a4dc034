"""The hub's own database, ``userData/hub/hub.db``: devices, pairing codes, bindings of chats.

Each part of the hub owns its tables and brings its migrations along::

    def __init__(self, database: HubDatabase) -> None:
        database.migrate("telegram", ("CREATE TABLE telegram_chat (...) STRICT",))

Sessions and messages are not kept here: the kernels of the machines have them. Several processes
may use the database, as `codekernel hub revoke` does while the hub runs.
"""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from codekernel.storage.engines import (
    CatalogDamaged,
    begin_write,
    close_on_error,
    connect_sqlite,
    translate_sqlite_errors,
)
from codekernel.storage.quarantine import quarantine_database
from codekernel.storage.safe_files import create_private_file, make_private_folder

HUB_FOLDER = "hub"

DATABASE_FILE = "hub.db"

# A writer holds the lock for milliseconds.
BUSY_TIMEOUT_SECONDS = 10.0

_VERSIONS_TABLE = """
CREATE TABLE IF NOT EXISTS migration (part TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT
"""


class HubDatabase:
    """An open database; safe to use from any thread. Raises StorageError."""

    def __init__(self, user_data: Path) -> None:
        """Open the database, or make it; a damaged one is quarantined."""
        self.path = user_data / HUB_FOLDER / DATABASE_FILE
        self._lock = threading.RLock()
        make_private_folder(self.path.parent)
        try:
            self._connection = self._open()
        except CatalogDamaged:
            quarantine_database(self.path)
            self._connection = self._open()

    def migrate(self, part: str, statements: Sequence[str]) -> None:
        """Run those of a part's statements that were not run yet, in their order.

        A part only ever appends statements to its list.
        """
        with self.write() as connection:
            row = connection.execute(
                "SELECT version FROM migration WHERE part = ?", (part,)
            ).fetchone()
            for statement in statements[row[0] if row else 0 :]:
                connection.execute(statement)
            connection.execute(
                "INSERT INTO migration VALUES (?1, ?2)"
                " ON CONFLICT (part) DO UPDATE SET version = max(version, ?2)",
                (part, len(statements)),
            )

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Within the block the connection belongs to this thread."""
        with self._lock, translate_sqlite_errors(self.path):
            yield self._connection

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Run the block as one transaction, on disk at its end; an exception undoes it."""
        with self.read() as connection, begin_write(connection):
            yield connection

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()

    def _open(self) -> sqlite3.Connection:
        create_private_file(self.path)
        with translate_sqlite_errors(self.path):
            connection = connect_sqlite(self.path.as_uri(), BUSY_TIMEOUT_SECONDS)
            with close_on_error(connection):
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute(_VERSIONS_TABLE)
        return connection
