"""The tables of the catalog: write them in batches (one transaction each), verify their pages.

Triggers track which files changed.
"""

import json
import logging
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from codekernel.domain.index import Chunk, IndexedFile, SkippedFileRecord
from codekernel.errors import StorageError
from codekernel.storage.catalog.rows import (
    compress_text,
    connect_catalog,
    decode_stored_path,
    encode_stored_path,
    join_names,
    replace_surrogates,
)
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

ChunkIds = list[tuple[int, Chunk]]

ChunksWithKeys = Sequence[tuple[Chunk, int]]

_FILE_INSERT = (
    "INSERT INTO file (size, mtime_ns, digest, language, encoding, path) VALUES (?,?,?,?,?,?)"
)

_FILE_UPDATE = "UPDATE file SET size=?, mtime_ns=?, digest=?, language=?, encoding=? WHERE path=?"

_CHUNK_INSERT = (
    "INSERT INTO chunk (file_id, input_length, key, begin_line, end_line, begin_char, end_char,"
    " kind, symbols, signature, defines, id) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"
)

_CHUNK_UPDATE = (
    "UPDATE chunk SET file_id=?, input_length=?, key=?, begin_line=?, end_line=?, begin_char=?,"
    " end_char=?, kind=?, symbols=?, signature=?, defines=? WHERE id=?"
)

# As SQLite has it by default: a log of so many bytes is moved into the database.
MAX_WAL_BYTES = 4 * 1024 * 1024

# Where a database says by which version of SQLite it is written and read, and those with a log.
_FORMAT_VERSIONS, _WAL_FORMAT = slice(18, 20), b"\x02\x02"

# A name in SQLite's own table of numbers, which every catalog has: no table is called so.
_LEXICAL_STAMP = "lexical stamp"


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
    def begin_batch(self) -> Iterator["CatalogBatch"]:
        """Commit everything written within the block at its end, or roll it back."""
        with translate_sqlite_errors(self._path):
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
                "SELECT seq FROM sqlite_sequence WHERE name = ?", (_LEXICAL_STAMP,)
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


class CatalogBatch:
    """Changes to the catalog that are committed together."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._last_chunk_id = 0

    def mark_pending(self, paths: Iterable[str]) -> None:
        """Mark files whose documents are about to be written to the lexical index."""
        self._database.executemany(
            "INSERT OR IGNORE INTO pending VALUES (?)",
            [(encode_stored_path(path),) for path in paths],
        )

    def mark_all_pending(self) -> None:
        """Mark every file, because the lexical index has to be rebuilt."""
        self._database.execute("INSERT OR IGNORE INTO pending SELECT path FROM file")

    def clear_pending(self, paths: Iterable[str]) -> None:
        """Unmark files on which both indexes agree."""
        self._database.executemany(
            "DELETE FROM pending WHERE path = ?", [(encode_stored_path(path),) for path in paths]
        )

    def set_lexical_opstamp(self, stamp: int) -> None:
        """Save the commit of the lexical index that the rows here match."""
        self._database.execute("DELETE FROM sqlite_sequence WHERE name = ?", (_LEXICAL_STAMP,))
        self._database.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (_LEXICAL_STAMP, stamp))

    def put_file(self, file: IndexedFile) -> tuple[int, ChunkIds]:
        """Replace a file's text and chunks; return its id and the ids of all its chunks.

        A chunk whose text was there before keeps its id.
        """
        path = encode_stored_path(file.path)
        values = (file.size, file.mtime_ns, file.digest, file.language, file.encoding, path)
        row = self._database.execute("SELECT id FROM file WHERE path = ?", (path,)).fetchone()
        # No upsert: its own conflict clause would take the place of that of the triggers.
        written = self._database.execute(_FILE_UPDATE if row else _FILE_INSERT, values)
        file_id = int(row[0] if row else written.lastrowid or 0)
        self._database.execute(
            "INSERT OR REPLACE INTO document VALUES (?, ?)", (file_id, compress_text(file.text))
        )
        self._database.execute("DELETE FROM refused WHERE path = ?", (path,))
        if row:
            self._delete_other_chunks(file.chunks_by_size, file_id)
        ids: ChunkIds = []
        for size, chunks in file.chunks_by_size.items():
            ids += self.put_chunks(file_id, size, chunks, has_old=bool(row))
        return file_id, ids

    def put_chunks(
        self, file_id: int, max_chunk_chars: int, chunks: ChunksWithKeys, *, has_old: bool = True
    ) -> ChunkIds:
        """Replace the chunks of one file for one chunk size; unless ``has_old``, it has none."""
        old = self._find_chunk_ids(file_id, max_chunk_chars) if has_old else {}
        ids: ChunkIds = []
        # Apart: replacing what is there or not takes a third more time than either.
        kept, fresh = [], []
        for chunk, key in chunks:
            row = _make_chunk_row(file_id, max_chunk_chars, key, chunk)
            chunk_id = old[key].pop() if old.get(key) else 0
            if chunk_id:
                kept.append((*row, chunk_id))
            else:
                chunk_id = self._next_chunk_id()
                fresh.append((*row, chunk_id))
            ids.append((chunk_id, chunk))
        self._database.executemany(_CHUNK_INSERT, fresh)
        if old:
            self._database.executemany(_CHUNK_UPDATE, kept)
            gone = [(chunk_id,) for chunk_ids in old.values() for chunk_id in chunk_ids]
            self._database.executemany("DELETE FROM chunk WHERE id = ?", gone)
        return ids

    def _find_chunk_ids(self, file_id: int, max_chunk_chars: int) -> dict[int, list[int]]:
        """Return the ids of a file's chunks of one size by their keys, the first one last."""
        old: dict[int, list[int]] = defaultdict(list)
        for chunk_id, key in self._database.execute(
            "SELECT id, key FROM chunk WHERE file_id = ? AND input_length = ? ORDER BY id DESC",
            (file_id, max_chunk_chars),
        ):
            old[key].append(chunk_id)
        return old

    def _next_chunk_id(self) -> int:
        """Return an id that no chunk has ever had; SQLite keeps the largest that was inserted."""
        if not self._last_chunk_id:
            row = self._database.execute(
                "SELECT seq FROM sqlite_sequence WHERE name = 'chunk'"
            ).fetchone()
            self._last_chunk_id = int(row[0]) if row else 0
        self._last_chunk_id += 1
        return self._last_chunk_id

    def _delete_other_chunks(self, kept_sizes: Iterable[int], file_id: int) -> None:
        """Delete a file's chunks of other sizes: they are of the text it had before."""
        self._database.execute(
            "DELETE FROM chunk WHERE file_id = ?"
            " AND input_length NOT IN (SELECT value FROM json_each(?))",
            (file_id, json.dumps([*kept_sizes])),
        )

    def touch_file(self, path: str, size: int, mtime_ns: int) -> None:
        """Save that a file has a new time and the same content."""
        self._database.execute(
            "UPDATE file SET size = ?, mtime_ns = ? WHERE path = ?",
            (size, mtime_ns, encode_stored_path(path)),
        )

    def remove_file(self, path: str) -> None:
        """Delete a file, its text and its chunks."""
        self._database.execute("DELETE FROM file WHERE path = ?", (encode_stored_path(path),))

    def put_skipped(self, skipped: SkippedFileRecord) -> None:
        """Save why a file is not indexed, and delete what was indexed of it."""
        self.remove_file(skipped.path)
        path, detail = encode_stored_path(skipped.path), replace_surrogates(skipped.detail)
        self._database.execute(
            "INSERT OR REPLACE INTO refused VALUES (?,?,?,?,?)",
            (path, skipped.reason, detail, skipped.size, skipped.mtime_ns),
        )

    def delete_skipped(self, path: str) -> None:
        """Delete the record of a skipped file."""
        self._database.execute("DELETE FROM refused WHERE path = ?", (encode_stored_path(path),))

    def delete_chunks(self, max_chunk_chars: int) -> None:
        """Delete every chunk of one size."""
        self._database.execute("DELETE FROM chunk WHERE input_length = ?", (max_chunk_chars,))


def _make_chunk_row(file_id: int, max_chunk_chars: int, key: int, chunk: Chunk) -> tuple[Any, ...]:
    """Return the columns of a chunk before its id."""
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
