"""The catalogue's tables and how they are opened; a catalogue is rebuilt rather than migrated."""

import sqlite3
from pathlib import Path

from kernel.storage.call_notes import CHANGED_FILES
from kernel.storage.full_disk_sqlite import open_where_possible
from kernel.storage.private_folder import create_private_file

# Raised whenever the meaning of a row changes: an older or newer catalogue is set aside and rebuilt
# from the files, which costs seconds and cannot go wrong as a migration can.
FORMAT = 1
# Waiting for another connection's commit; a writer holds the lock for milliseconds.
BUSY_SECONDS = 10.0
# Per connection; the hot pages of a large repository's chunk table.
CACHE_KIB = 16 * 1024

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


class ForeignFormat(Exception):
    """The catalogue was made by another version."""


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """A connection that any thread may use, one at a time; also where the disk is full."""
    if not read_only:
        create_private_file(path)
    return open_where_possible(path, _connect, sqlite3.Error, read_only=read_only)


def _connect(address: str) -> sqlite3.Connection:
    database = sqlite3.connect(
        address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        database.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        database.execute("PRAGMA foreign_keys = ON")
        database.execute("SELECT 1 FROM sqlite_master").fetchone()  # the log is opened by this
    except BaseException:
        database.close()
        raise
    return database


def prepare(database: sqlite3.Connection) -> None:
    """Make the tables in a new database, or see that they are ours; raises ForeignFormat."""
    # FULL: the lexical index is flushed at each commit, and must not get ahead of its notes here.
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    # Pages are moved out of the log by ``page_checksums.py`` alone, which notes their sums.
    database.execute("PRAGMA wal_autocheckpoint = 0")
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version == 0 and not database.execute("SELECT 1 FROM sqlite_master").fetchone():
        made = f"{_TABLES}{CHANGED_FILES}PRAGMA user_version = {FORMAT};"
        database.executescript(f"BEGIN;{made}COMMIT;")
    elif version != FORMAT:
        raise ForeignFormat(f"it has format {version}, this codekernel writes {FORMAT}")
    elif not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'changed'").fetchone():
        database.executescript(f"BEGIN;{CHANGED_FILES}COMMIT;")  # made before there were notes
