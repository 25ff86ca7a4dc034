"""The SQLite schema of the catalog, the triggers that track changed files, rows and values."""

import sqlite3
import zlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from codekernel.domain.index import Chunk, IndexedChunk
from codekernel.storage.sqlite_files import connect_sqlite, open_with_fallbacks
from codekernel.storage.user_data import create_private_file

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

# Increased whenever the meaning of a row changes: an older or newer catalog is quarantined and
# rebuilt from the files, which costs seconds and cannot go wrong as a migration can.
CATALOG_FORMAT = 1

# Waiting for another connection's commit; a writer holds the lock for milliseconds.
BUSY_TIMEOUT_SECONDS = 10.0

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


class CatalogFormatMismatch(Exception):
    """The catalog was made by another version."""


def connect_catalog(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Return a connection that any thread may use, one at a time; also where the disk is full."""
    if not read_only:
        create_private_file(path)
    return open_with_fallbacks(path, _connect_address, sqlite3.Error, read_only=read_only)


def _connect_address(address: str) -> sqlite3.Connection:
    database = connect_sqlite(address, BUSY_TIMEOUT_SECONDS)
    try:
        database.execute("PRAGMA foreign_keys = ON")
        database.execute("SELECT 1 FROM sqlite_master").fetchone()  # this opens the log
    except BaseException:
        database.close()
        raise
    return database


def prepare_catalog(database: sqlite3.Connection) -> None:
    """Make the tables in a new database, or check its format; raises CatalogFormatMismatch."""
    # FULL: the lexical index is flushed at each commit, and must not get ahead of these rows.
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    # Only PageChecksums moves pages out of the log, and saves their checksums.
    database.execute("PRAGMA wal_autocheckpoint = 0")
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version == 0 and not database.execute("SELECT 1 FROM sqlite_master").fetchone():
        made = f"{_TABLES}{CHANGE_TRACKING_SQL}PRAGMA user_version = {CATALOG_FORMAT};"
        database.executescript(f"BEGIN;{made}COMMIT;")
    elif version != CATALOG_FORMAT:
        raise CatalogFormatMismatch(
            f"it has format {version}, this codekernel writes {CATALOG_FORMAT}"
        )
    elif not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'changed'").fetchone():
        # Made before changes were tracked.
        database.executescript(f"BEGIN;{CHANGE_TRACKING_SQL}COMMIT;")


# Between names in one column; no name contains it.
_SEPARATOR = "\x1f"

# Paths and lists of names that were read before; the same few are read again and again.
_MAX_CACHED_COLUMNS = 65_536

# Level 1: half a millisecond for a hundred kilobytes, and a third of their size.
_COMPRESSION_LEVEL = 1

CHUNK_COLUMNS = (
    "chunk.id, file.path, file.language, chunk.input_length, chunk.key, chunk.begin_line,"
    " chunk.end_line, chunk.begin_char, chunk.end_char, chunk.kind, chunk.symbols, chunk.signature,"
    " chunk.defines"
)


def encode_stored_path(path: str) -> bytes:
    """Encode a path; any file name of any system survives it."""
    return path.encode(errors="surrogatepass")


def decode_stored_path(stored: bytes) -> str:
    """Decode a stored path."""
    return stored.decode(errors="surrogatepass")


def compress_text(text: str) -> bytes:
    """Compress the text of a file."""
    return zlib.compress(text.encode(errors="surrogatepass"), _COMPRESSION_LEVEL)


def decompress_text(stored: bytes) -> str:
    """Decompress the text of a file."""
    return zlib.decompress(stored).decode(errors="surrogatepass")


def make_chunk_row(file_id: int, max_chunk_chars: int, key: int, chunk: Chunk) -> tuple[Any, ...]:
    """Return the columns of a chunk after its id."""
    return (
        file_id,
        max_chunk_chars,
        key,
        chunk.begin_line,
        chunk.end_line,
        chunk.begin,
        chunk.end,
        chunk.kind,
        join_names(chunk.symbols),
        replace_surrogates(chunk.signature),
        join_names(chunk.defined_names),
    )


def parse_chunk_row(row: Sequence[Any]) -> IndexedChunk:
    """Return the chunk of a row of CHUNK_COLUMNS."""
    symbols, names = split_names(row[10]), split_names(row[12])
    return IndexedChunk(
        *(row[5], row[6], row[7], row[8], row[9], symbols, row[11], names),
        id=row[0],
        path=_decode_cached_path(row[1]),
        language=row[2],
        max_chunk_chars=row[3],
        text_hash=row[4],
    )


@lru_cache(_MAX_CACHED_COLUMNS)
def _decode_cached_path(stored: bytes) -> str:
    return decode_stored_path(stored)


def join_names(names: Sequence[str]) -> str:
    """Return names as one column."""
    return replace_surrogates(_SEPARATOR.join(names))


@lru_cache(_MAX_CACHED_COLUMNS)
def split_names(column: str) -> tuple[str, ...]:
    """Return the names in one column."""
    return tuple(column.split(_SEPARATOR)) if column else ()


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which SQLite does not take, by question marks."""
    return text if text.isascii() else text.encode(errors="replace").decode()
