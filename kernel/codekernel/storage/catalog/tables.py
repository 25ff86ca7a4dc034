"""The tables of the catalog: made, and checked when it is opened. Triggers track changed files."""

import sqlite3
from contextlib import closing
from pathlib import Path

from codekernel.storage.catalog.rows import connect_catalog
from codekernel.storage.engines import (
    CatalogDamaged,
    read_user_version,
    translate_sqlite_errors,
)
from codekernel.storage.safe_files import add_suffix, is_usable_file, write_bytes_atomically

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

# Where a database says by which version of SQLite it is written and read, and those with a log.
_FORMAT_VERSIONS, _WAL_FORMAT = slice(18, 20), b"\x02\x02"


def create_tables(database: sqlite3.Connection) -> None:
    """Make the tables in an empty database."""
    made = f"{_TABLES}{CHANGE_TRACKING_SQL}PRAGMA user_version = {CATALOG_FORMAT};"
    database.executescript(f"BEGIN;{made}COMMIT;")


def create_catalog(path: Path) -> None:
    """Write an empty catalog, whole or not at all: two flushes, where SQLite needs seven."""
    with closing(sqlite3.connect(":memory:")) as database:
        create_tables(database)
        content = bytearray(database.serialize())
    content[_FORMAT_VERSIONS] = _WAL_FORMAT
    add_suffix(path, "-wal").unlink(missing_ok=True)  # it is of a database that is gone
    write_bytes_atomically(path, bytes(content))


def prepare_catalog(database: sqlite3.Connection, path: Path) -> None:
    """Choose how it is written, and check its format; raises CatalogDamaged."""
    # FULL: the lexical index is flushed at each commit, and must not get ahead of these rows.
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    # Only PageChecksums moves pages out of the log, and saves their checksums.
    database.execute("PRAGMA wal_autocheckpoint = 0")
    _check_format(database, path)
    if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'changed'").fetchone():
        # Made before changes were tracked.
        database.executescript(f"BEGIN;{CHANGE_TRACKING_SQL}COMMIT;")


def check_catalog_readable(path: Path) -> None:
    """Check the format of a catalog; raises CatalogDamaged if it cannot be read here."""
    if not is_usable_file(path):
        raise CatalogDamaged(f"{path} is not there, or not a file that can be read")
    with translate_sqlite_errors(path), closing(connect_catalog(path, read_only=True)) as database:
        _check_format(database, path)


def _check_format(database: sqlite3.Connection, path: Path) -> None:
    version = read_user_version(database)
    if version != CATALOG_FORMAT:
        raise CatalogDamaged(f"{path} has format {version}, this codekernel has {CATALOG_FORMAT}")


def check_integrity(database: sqlite3.Connection, path: Path) -> None:
    """Run SQLite's integrity check; raises CatalogDamaged."""
    (found,) = database.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise CatalogDamaged(f"{path} is damaged: {found}")
