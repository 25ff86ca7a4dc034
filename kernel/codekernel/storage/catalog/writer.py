"""The tables of the catalog: begin batches (one transaction each), verify their pages.

Triggers track which files changed.
"""

import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from codekernel.errors import StorageError
from codekernel.storage.catalog.batch import LEXICAL_STAMP, CatalogBatch
from codekernel.storage.catalog.rows import connect_catalog, decode_stored_path
from codekernel.storage.engines import (
    CatalogDamaged,
    begin_write,
    close_on_error,
    read_user_version,
    translate_sqlite_errors,
)
from codekernel.storage.page_checksums import PageChecksums
from codekernel.storage.safe_files import add_suffix, read_size, write_bytes_atomically

logger = logging.getLogger(__name__)

CHANGE_TRACKING_SQL = """
CREATE TABLE IF NOT EXISTS changed (file_id INTEGER PRIMARY KEY, at INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS changed_at ON changed (at);
CREATE TRIGGER IF NOT EXISTS file_came AFTER INSERT ON file BEGIN
    INSERT OR REPLACE INTO changed
    VALUES (new.id, 1 + (SELECT coalesce(max(at), 0) FROM changed));
END;
CREATE TRIGGER IF NOT EXISTS file_differs AFTER UPDATE OF digest, language ON file
WHEN new.digest <> old.digest OR new.language <> old.language BEGIN
    INSERT OR REPLACE INTO changed
    VALUES (new.id, 1 + (SELECT coalesce(max(at), 0) FROM changed));
END;
CREATE TRIGGER IF NOT EXISTS file_went AFTER DELETE ON file BEGIN
    INSERT OR REPLACE INTO changed
    VALUES (old.id, 1 + (SELECT coalesce(max(at), 0) FROM changed));
END;
"""

# Increased whenever the meaning of a row changes, or texts are chunked otherwise: an older or newer
# catalog is quarantined and rebuilt from the files, which costs seconds and cannot go wrong as a
# migration can. Vectors are kept by the text of their chunk.
CATALOG_FORMAT = 2

_TABLES = """
CREATE TABLE file (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path BLOB UNIQUE NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    digest BLOB NOT NULL,
    language TEXT NOT NULL,
    encoding TEXT NOT NULL
);
-- Apart from its file, so that looking through all files does not page through all texts.
CREATE TABLE document (
    file_id INTEGER PRIMARY KEY REFERENCES file(id) ON DELETE CASCADE,
    text BLOB NOT NULL
);
CREATE TABLE chunk (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    file_id INTEGER NOT NULL REFERENCES file(id) ON DELETE CASCADE,
    input_length INTEGER NOT NULL,
    key INTEGER NOT NULL,
    begin_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    begin_char INTEGER NOT NULL,
    end_char INTEGER NOT NULL,
    kind TEXT NOT NULL,
    symbols TEXT NOT NULL,
    signature TEXT NOT NULL,
    defines TEXT NOT NULL
);
CREATE INDEX chunk_of_file ON chunk (file_id, input_length);
CREATE INDEX chunk_by_key ON chunk (key);
CREATE TABLE refused (
    path BLOB PRIMARY KEY,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL
) WITHOUT ROWID;
-- Files whose words may already be in the lexical index while their rows are not yet here.
CREATE TABLE pending (path BLOB PRIMARY KEY) WITHOUT ROWID;
"""

# As SQLite has it by default: a log of so many bytes is moved into the database.
MAX_WAL_BYTES = 4 * 1024 * 1024

# Where a database says by which version of SQLite it is written and read, and those with a log.
_FORMAT_VERSIONS, _WAL_FORMAT = slice(18, 20), b"\x02\x02"


def create_tables(database: sqlite3.Connection) -> None:
    """Make the tables in an empty database."""
    made = f"{_TABLES}{CHANGE_TRACKING_SQL}PRAGMA user_version = {CATALOG_FORMAT};"
    database.executescript(f"BEGIN;{made}COMMIT;")


def _create_catalog(path: Path) -> None:
    """Write an empty catalog, whole or not at all: two flushes, where SQLite needs seven."""
    with closing(sqlite3.connect(":memory:")) as database:
        create_tables(database)
        content = bytearray(database.serialize())
    content[_FORMAT_VERSIONS] = _WAL_FORMAT
    add_suffix(path, "-wal").unlink(missing_ok=True)  # it is of a database that is gone
    write_bytes_atomically(path, bytes(content))


def _prepare_catalog(database: sqlite3.Connection, path: Path) -> None:
    """Choose how it is written, and check its format; raises CatalogDamaged."""
    # FULL: the lexical index is flushed at each commit, and must not get ahead of these rows.
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    # Only PageChecksums moves pages out of the log, and saves their checksums.
    database.execute("PRAGMA wal_autocheckpoint = 0")
    version = read_user_version(database)
    if version != CATALOG_FORMAT:
        raise CatalogDamaged(
            f"{path} cannot be used: it has format {version},"
            f" this codekernel writes {CATALOG_FORMAT}"
        )
    if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'changed'").fetchone():
        # Made before changes were tracked.
        database.executescript(f"BEGIN;{CHANGE_TRACKING_SQL}COMMIT;")


class CatalogWriter:
    """The one connection that writes."""

    def __init__(self, path: Path, *, max_wal_bytes: int = MAX_WAL_BYTES) -> None:
        """Raises CatalogDamaged if the file is not a catalog of this version."""
        self._path = path
        self._wal = add_suffix(path, "-wal")
        self._checksums = PageChecksums(path)
        self._max_wal_bytes = self._wal_limit = max_wal_bytes
        if read_size(path) == 0:
            _create_catalog(path)
            self._checksums.adopt_current_pages()
        with translate_sqlite_errors(path):
            self._database = connect_catalog(path)
            with close_on_error(self._database):
                _prepare_catalog(self._database, path)
                self._database.execute("SELECT path FROM pending").fetchall()  # a first look

    def close(self) -> None:
        """Close the connection; an open batch is rolled back.

        A damaged catalog is closed too; the next opening finds the damage.
        """
        with translate_sqlite_errors(self._path):
            try:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                self._checksums.checkpoint(self._database)
                self._checksums.close_connection(self._database)
            except (sqlite3.Error, StorageError) as error:
                logger.warning("the log of %s could not be emptied: %s", self._path, error)
            finally:
                self._database.close()

    @contextmanager
    def begin_batch(self, *, is_durable: bool = True) -> Iterator[CatalogBatch]:
        """Commit everything written within the block at its end, or roll it back.

        What is not ``is_durable`` a power failure may take, the newest first; the next durable
        batch keeps it. It does not wait for the disk.
        """
        with translate_sqlite_errors(self._path):
            self._database.execute(f"PRAGMA synchronous = {'FULL' if is_durable else 'NORMAL'}")
            with begin_write(self._database):
                yield CatalogBatch(self._database)
            self._checkpoint_long_wal()

    def checkpoint(self) -> None:
        """Move what was committed into the database and empty the log, unless a reader needs it."""
        with translate_sqlite_errors(self._path):
            self._checksums.checkpoint(self._database)

    def verify(self, between_steps: Callable[[], None] = lambda: None) -> None:
        """Compare every page with its checksum; raises CatalogDamaged."""
        if not self._checksums.verify(between_steps):
            with translate_sqlite_errors(self._path):
                check_integrity(self._database, self._path)
                self._checksums.checkpoint(self._database)
            self._checksums.adopt_current_pages()

    def read_lexical_opstamp(self) -> int | None:
        """Return the last commit of the lexical index that the rows here match; None if unknown."""
        with translate_sqlite_errors(self._path):
            row = self._database.execute(
                "SELECT seq FROM sqlite_sequence WHERE name = ?", (LEXICAL_STAMP,)
            ).fetchone()
        return int(row[0]) if row else None

    def list_pending(self) -> list[str]:
        """Return the files whose lexical documents may be ahead of their rows, after a crash."""
        with translate_sqlite_errors(self._path):
            rows = self._database.execute("SELECT path FROM pending").fetchall()
        return [decode_stored_path(row[0]) for row in rows]

    def _checkpoint_long_wal(self) -> None:
        """Checkpoint a long log; one that a reader needs is left for later."""
        if read_size(self._wal) > self._wal_limit:
            self._checksums.checkpoint(self._database)
            self._wal_limit = read_size(self._wal) + self._max_wal_bytes


def check_integrity(database: sqlite3.Connection, path: Path) -> None:
    """Run SQLite's integrity check; raises CatalogDamaged."""
    (found,) = database.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise CatalogDamaged(f"{path} is damaged: {found}")
