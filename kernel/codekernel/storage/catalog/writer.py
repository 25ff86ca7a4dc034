"""Write the catalog: batches of changes (one transaction each), and its log."""

import json
import logging
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from codekernel.domain.index import Chunk, IndexedFile, SkippedFileRecord
from codekernel.errors import StorageError
from codekernel.storage.catalog.rows import (
    Row,
    compress_text,
    connect_catalog,
    decode_stored_path,
    encode_stored_path,
    join_names,
    replace_surrogates,
)
from codekernel.storage.catalog.tables import check_integrity, create_catalog, prepare_catalog
from codekernel.storage.engines import begin_write, close_on_error, translate_sqlite_errors
from codekernel.storage.page_checksums import PageChecksums
from codekernel.storage.safe_files import add_suffix, read_size

logger = logging.getLogger(__name__)

# As SQLite has it by default: a log of so many bytes is moved into the database.
MAX_WAL_BYTES = 4 * 1024 * 1024

# A name in SQLite's own table of numbers, which every catalog has: no table is called so.
LEXICAL_STAMP = "lexical stamp"

ChunksWithKeys = Sequence[tuple[Chunk, int]]


@dataclass(frozen=True, slots=True)
class ChunkChanges:
    """What a lexical index has to write after the chunks of a file were replaced."""

    # Chunks that are new or that have other names, with their ids and keys.
    written: list[tuple[int, Chunk, int]] = field(default_factory=list)
    # The ids of those that are gone, or that are written again.
    removed: list[int] = field(default_factory=list)


_FILE_INSERT = (
    "INSERT INTO file (size, mtime_ns, digest, language, encoding, path) VALUES (?,?,?,?,?,?)"
)

_FILE_UPDATE = "UPDATE file SET size=?, mtime_ns=?, digest=?, language=?, encoding=? WHERE path=?"

_CHUNK_INSERT = (
    "INSERT INTO chunk (file_id, input_length, key, begin_line, end_line, begin_char, end_char,"
    " kind, symbols, signature, defines, id) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"
)

# The file, the chunk size and the key stay, and with them both indexes of the table.
_CHUNK_UPDATE = (
    "UPDATE chunk SET begin_line=?, end_line=?, begin_char=?, end_char=?, kind=?, symbols=?,"
    " signature=?, defines=? WHERE id=?"
)

_CHUNK_SELECT = (
    "SELECT key, begin_line, end_line, begin_char, end_char, kind, symbols, signature, defines, id"
    " FROM chunk WHERE file_id = ? AND input_length = ? ORDER BY id DESC"
)


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
        self._database.execute("DELETE FROM sqlite_sequence WHERE name = ?", (LEXICAL_STAMP,))
        self._database.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (LEXICAL_STAMP, stamp))

    def put_file(self, file: IndexedFile) -> tuple[int, ChunkChanges]:
        """Replace a file's text and chunks; return its id and what has changed of its chunks.

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
        changes = ChunkChanges()
        if row:
            self._delete_other_chunks(file.chunks_by_size, file_id, changes)
        else:
            self._database.execute("DELETE FROM refused WHERE path = ?", (path,))
        for size, chunks in file.chunks_by_size.items():
            self.put_chunks(file_id, size, chunks, changes, has_old=bool(row))
        return file_id, changes

    def put_chunks(
        self,
        file_id: int,
        max_chunk_chars: int,
        chunks: ChunksWithKeys,
        changes: ChunkChanges,
        *,
        has_old: bool = True,
    ) -> None:
        """Replace the chunks of one file for one chunk size; unless ``has_old``, it has none.

        What has changed is added to ``changes``; rows that stay the same are not written.
        """
        old = self._find_chunk_rows(file_id, max_chunk_chars) if has_old else {}
        fresh, kept = [], []
        for chunk, key in chunks:
            row = _make_chunk_row(chunk)
            if found := old.get(key):
                *before, chunk_id = found.pop()
                if row == tuple(before):
                    continue
                kept.append((*row, chunk_id))
                if row[_NAME_COLUMNS] == tuple(before)[_NAME_COLUMNS]:
                    continue
                changes.removed.append(chunk_id)
            else:
                chunk_id = self._next_chunk_id()
                fresh.append((file_id, max_chunk_chars, key, *row, chunk_id))
            changes.written.append((chunk_id, chunk, key))
        self._database.executemany(_CHUNK_INSERT, fresh)
        if old:
            self._database.executemany(_CHUNK_UPDATE, kept)
            gone = [row[-1] for rows in old.values() for row in rows]
            self._delete_chunks(gone, changes)

    def _find_chunk_rows(self, file_id: int, max_chunk_chars: int) -> dict[int, list[Row]]:
        """Return a file's chunks of one size by their keys, the first one last."""
        old: dict[int, list[Row]] = defaultdict(list)
        for key, *row in self._database.execute(_CHUNK_SELECT, (file_id, max_chunk_chars)):
            old[key].append(tuple(row))
        return old

    def _delete_chunks(self, ids: Sequence[int], changes: ChunkChanges) -> None:
        self._database.executemany("DELETE FROM chunk WHERE id = ?", [(one,) for one in ids])
        changes.removed.extend(ids)

    def _next_chunk_id(self) -> int:
        """Return an id that no chunk has ever had; SQLite keeps the largest that was inserted."""
        if not self._last_chunk_id:
            row = self._database.execute(
                "SELECT seq FROM sqlite_sequence WHERE name = 'chunk'"
            ).fetchone()
            self._last_chunk_id = int(row[0]) if row else 0
        self._last_chunk_id += 1
        return self._last_chunk_id

    def _delete_other_chunks(
        self, kept_sizes: Iterable[int], file_id: int, changes: ChunkChanges
    ) -> None:
        """Delete a file's chunks of other sizes: they are of the text it had before."""
        others = self._database.execute(
            "SELECT id FROM chunk WHERE file_id = ?"
            " AND input_length NOT IN (SELECT value FROM json_each(?))",
            (file_id, json.dumps([*kept_sizes])),
        )
        self._delete_chunks([row[0] for row in others], changes)

    def list_chunk_ids(self, path: str) -> list[int]:
        """Return the ids of a file's chunks, of all sizes."""
        rows = self._database.execute(
            "SELECT chunk.id FROM chunk JOIN file ON file.id = file_id WHERE path = ?",
            (encode_stored_path(path),),
        )
        return [row[0] for row in rows]

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


# Symbols and defined names, of which the lexical index has the words.
_NAME_COLUMNS = slice(5, 8, 2)


def _make_chunk_row(chunk: Chunk) -> Row:
    """Return the columns of a chunk between its key and its id."""
    return (
        chunk.begin_line,
        chunk.end_line,
        chunk.begin,
        chunk.end,
        chunk.kind,
        join_names(chunk.symbols),
        replace_surrogates(chunk.signature),
        join_names(chunk.defined_names),
    )


class CatalogWriter:
    """The one connection that writes."""

    def __init__(self, path: Path, *, max_wal_bytes: int = MAX_WAL_BYTES) -> None:
        """Raises CatalogDamaged if the file is not a catalog of this version."""
        self._path = path
        self._wal = add_suffix(path, "-wal")
        self._checksums = PageChecksums(path)
        self._max_wal_bytes = self._wal_limit = max_wal_bytes
        if read_size(path) == 0:
            create_catalog(path)
            self._checksums.adopt_current_pages()
        with translate_sqlite_errors(path):
            self._database = connect_catalog(path)
            with close_on_error(self._database):
                prepare_catalog(self._database, path)
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
