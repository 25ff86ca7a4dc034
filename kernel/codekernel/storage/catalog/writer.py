"""Write the catalog in batches (one transaction each), checkpoint its log, verify its pages."""

import logging
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from codekernel.domain.index import Chunk, IndexedFile, SkippedFileRecord
from codekernel.errors import StorageError
from codekernel.storage.catalog.schema import (
    CatalogFormatMismatch,
    compress_text,
    connect_catalog,
    decode_stored_path,
    encode_stored_path,
    make_chunk_row,
    prepare_catalog,
    replace_surrogates,
)
from codekernel.storage.engine_errors import CatalogDamaged, translate_sqlite_errors
from codekernel.storage.page_checksums import PageChecksums
from codekernel.storage.quarantine import add_suffix
from codekernel.storage.sqlite_files import begin_write

logger = logging.getLogger(__name__)

ChunkIds = list[tuple[int, Chunk]]

ChunksWithKeys = Sequence[tuple[Chunk, int]]

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

# A name in SQLite's own table of numbers, which every catalog has: no table is called so.
_LEXICAL_STAMP = "lexical stamp"


class CatalogWriter:
    """The one connection that writes."""

    def __init__(self, path: Path, *, max_wal_bytes: int = MAX_WAL_BYTES) -> None:
        """Raises CatalogDamaged if the file is not a catalog of this version."""
        self._path = path
        self._wal = add_suffix(path, "-wal")
        self._checksums = PageChecksums(path)
        self._max_wal_bytes = self._wal_limit = max_wal_bytes
        with translate_sqlite_errors(path):
            self._database = connect_catalog(path)
            try:
                prepare_catalog(self._database)
            except CatalogFormatMismatch as error:
                self._database.close()
                raise CatalogDamaged(f"{path} cannot be used: {error}") from error
            except sqlite3.Error:
                self._database.close()
                raise

    def close(self) -> None:
        """Close the connection; an open batch is rolled back.

        A damaged catalog is closed too; the next opening finds the damage.
        """
        with translate_sqlite_errors(self._path):
            try:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                self._checksums.checkpoint(self._database)
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
        try:
            size = self._wal.stat().st_size
        except OSError:
            return
        if size > self._wal_limit:
            self._checksums.checkpoint(self._database)
            left = self._wal.stat().st_size if self._wal.exists() else 0
            self._wal_limit = left + self._max_wal_bytes


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
        changed = self._database.execute(
            "UPDATE sqlite_sequence SET seq = ? WHERE name = ?", (stamp, _LEXICAL_STAMP)
        )
        if not changed.rowcount:
            self._database.execute(
                "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (_LEXICAL_STAMP, stamp)
            )

    def put_file(self, file: IndexedFile) -> tuple[int, ChunkIds]:
        """Replace a file's text and chunks; return its id and the ids of all its chunks.

        A chunk whose text was there before keeps its id.
        """
        path = encode_stored_path(file.path)
        values = (file.size, file.mtime_ns, file.digest, file.language, file.encoding, path)
        row = self._database.execute("SELECT id FROM file WHERE path = ?", (path,)).fetchone()
        if row:
            file_id = int(row[0])
            self._database.execute(
                "UPDATE file SET size=?, mtime_ns=?, digest=?, language=?, encoding=?"
                " WHERE path = ?",
                values,
            )
        else:
            inserted = self._database.execute(
                "INSERT INTO file (size, mtime_ns, digest, language, encoding, path)"
                " VALUES (?,?,?,?,?,?)",
                values,
            )
            file_id = int(inserted.lastrowid or 0)
        self._database.execute(
            "INSERT OR REPLACE INTO document VALUES (?, ?)", (file_id, compress_text(file.text))
        )
        self._database.execute("DELETE FROM refused WHERE path = ?", (path,))
        self._delete_other_chunks(file.chunks_by_size, file_id)
        ids: ChunkIds = []
        for size, chunks in file.chunks_by_size.items():
            ids += self.put_chunks(file_id, size, chunks)
        return file_id, ids

    def put_chunks(self, file_id: int, max_chunk_chars: int, chunks: ChunksWithKeys) -> ChunkIds:
        """Replace the chunks of one file for one chunk size."""
        old: dict[int, list[int]] = defaultdict(list)
        for chunk_id, key in self._database.execute(
            "SELECT id, key FROM chunk WHERE file_id = ? AND input_length = ? ORDER BY id DESC",
            (file_id, max_chunk_chars),
        ):
            old[key].append(chunk_id)
        ids: ChunkIds = []
        kept, fresh = [], []
        for chunk, key in chunks:
            row = make_chunk_row(file_id, max_chunk_chars, key, chunk)
            chunk_id = old[key].pop() if old.get(key) else 0
            if chunk_id:
                kept.append((*row, chunk_id))
            else:
                chunk_id = self._next_chunk_id()
                fresh.append((*row, chunk_id))
            ids.append((chunk_id, chunk))
        self._database.executemany(_CHUNK_UPDATE, kept)
        self._database.executemany(_CHUNK_INSERT, fresh)
        gone = [(chunk_id,) for chunk_ids in old.values() for chunk_id in chunk_ids]
        self._database.executemany("DELETE FROM chunk WHERE id = ?", gone)
        return ids

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
        kept = [*kept_sizes]
        self._database.execute(
            "DELETE FROM chunk WHERE file_id = ?"  # noqa: S608 - question marks
            f" AND input_length NOT IN ({','.join('?' * len(kept))})",
            (file_id, *kept),
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
        self._database.execute(
            "INSERT OR REPLACE INTO refused VALUES (?,?,?,?,?)",
            (
                encode_stored_path(skipped.path),
                skipped.reason,
                replace_surrogates(skipped.detail),
                skipped.size,
                skipped.mtime_ns,
            ),
        )

    def delete_skipped(self, path: str) -> None:
        """Delete the record of a skipped file."""
        self._database.execute("DELETE FROM refused WHERE path = ?", (encode_stored_path(path),))

    def delete_chunks(self, max_chunk_chars: int) -> None:
        """Delete every chunk of one size."""
        self._database.execute("DELETE FROM chunk WHERE input_length = ?", (max_chunk_chars,))
