"""Read the catalog of one repository.

Files are indexed, as which chunks, and which files were skipped. Readers never wait for the
writer.
"""

import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from codekernel.domain.index import FileRecord, IndexedChunk, SkippedFileRecord
from codekernel.errors import StorageError
from codekernel.storage.catalog.cache import MAX_SQL_PARAMETERS, CachedCatalogReader, ChunkTextCache
from codekernel.storage.catalog.schema import (
    CHUNK_COLUMNS,
    compress_text,
    connect_catalog,
    decode_stored_path,
    decompress_text,
    encode_stored_path,
    parse_chunk_row,
    split_names,
)
from codekernel.storage.engine_errors import translate_sqlite_errors

if TYPE_CHECKING:
    from codekernel.storage.vectors.quantization import Int64Array

Value = TypeVar("Value")


class Catalog:
    """What has been read; every question is answered from one consistent moment."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # The last one used is the next one used: it remembers most.
        self._idle_readers: deque[CachedCatalogReader] = deque()
        self._text_cache = ChunkTextCache()
        self._closed = threading.Event()
        self._identity = _read_file_identity(path)

    def list_files(self) -> dict[str, FileRecord]:
        """Every indexed file by its path."""
        with self._read_transaction() as database:
            rows = database.execute("SELECT path, id, size, mtime_ns, digest FROM file")
            return {decode_stored_path(row[0]): FileRecord(*row[1:]) for row in rows}

    def find_file(self, path: str) -> FileRecord | None:
        """One indexed file."""
        with self._read_transaction() as database:
            row = database.execute(
                "SELECT id, size, mtime_ns, digest FROM file WHERE path = ?",
                (encode_stored_path(path),),
            ).fetchone()
            return FileRecord(*row) if row else None

    def find_files(self, paths: Sequence[str]) -> dict[str, FileRecord]:
        """Those of the paths that are indexed files."""
        with self._borrow_reader() as reader:
            return reader.find_files(paths)

    def list_files_under(self, folder: str) -> dict[str, FileRecord]:
        """The indexed files of a folder and of the folders in it."""
        low, high = (
            encode_stored_path(f"{folder}/"),
            encode_stored_path(f"{folder}0"),
        )  # 0 comes after /
        with self._read_transaction() as database:
            rows = database.execute(
                "SELECT path, id, size, mtime_ns, digest FROM file WHERE path >= ? AND path < ?",
                (low, high),
            )
            return {decode_stored_path(row[0]): FileRecord(*row[1:]) for row in rows}

    def list_skipped(self) -> dict[str, SkippedFileRecord]:
        """Every file that was looked at and not indexed."""
        with self._read_transaction() as database:
            rows = database.execute("SELECT path, reason, detail, size, mtime_ns FROM refused")
            return {
                decode_stored_path(row[0]): SkippedFileRecord(decode_stored_path(row[0]), *row[1:])
                for row in rows
            }

    def list_first_skipped(self, limit: int) -> tuple[list[SkippedFileRecord], int]:
        """So many of the files that were not indexed, by path, and how many there are."""
        with self._read_transaction() as database:
            rows = database.execute(
                "SELECT path, reason, detail, size, mtime_ns FROM refused ORDER BY path LIMIT ?",
                (limit,),
            )
            found = [SkippedFileRecord(decode_stored_path(row[0]), *row[1:]) for row in rows]
            (total,) = database.execute("SELECT count(*) FROM refused").fetchone()
            return found, int(total)

    def list_symbol_names(self, limit: int) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """The names around chunks and those they define, each pair once, ``limit`` at the most."""
        with self._read_transaction() as database:
            rows = database.execute("SELECT DISTINCT symbols, defines FROM chunk LIMIT ?", (limit,))
            return [(split_names(around), split_names(own)) for around, own in rows]

    def find_skipped(self, path: str) -> SkippedFileRecord | None:
        """Why one file is not indexed, if that is known."""
        with self._read_transaction() as database:
            row = database.execute(
                "SELECT reason, detail, size, mtime_ns FROM refused WHERE path = ?",
                (encode_stored_path(path),),
            ).fetchone()
            return SkippedFileRecord(path, *row) if row else None

    @property
    def is_in_place(self) -> bool:
        """Whether the file that was opened is still the one with its name."""
        return _read_file_identity(self.path) == self._identity

    @property
    def is_empty(self) -> bool:
        """Whether no file is indexed; known at once, however many there are."""
        with self._read_transaction() as database:
            return database.execute("SELECT 1 FROM file LIMIT 1").fetchone() is None

    def count_contents(self) -> tuple[int, int, int]:
        """How many files, chunks and refused files there are."""
        with self._read_transaction() as database:
            row = database.execute(
                "SELECT (SELECT count(*) FROM file), (SELECT count(*) FROM chunk),"
                " (SELECT count(*) FROM refused)"
            ).fetchone()
            return int(row[0]), int(row[1]), int(row[2])

    def count_skipped_by_reason(self) -> dict[str, int]:
        """How many files are not indexed, for each reason."""
        with self._read_transaction() as database:
            return dict(
                database.execute("SELECT reason, count(*) FROM refused GROUP BY reason").fetchall()
            )

    def list_chunk_sizes(self) -> list[int]:
        """The input lengths for which there are chunks."""
        with self._read_transaction() as database:
            rows = database.execute("SELECT DISTINCT input_length FROM chunk")
            return sorted(row[0] for row in rows)

    def list_unchunked_files(self, max_chunk_chars: int) -> list[int]:
        """The files that have not been cut for this input length; of an empty one nothing comes."""
        with self._read_transaction() as database:
            rows = database.execute(
                "SELECT id FROM file WHERE NOT EXISTS (SELECT 1 FROM chunk"
                " WHERE chunk.file_id = file.id AND chunk.input_length = ?)"
                " AND NOT EXISTS (SELECT 1 FROM document"
                " WHERE document.file_id = file.id AND document.text = ?) ORDER BY id",
                (max_chunk_chars, compress_text("")),
            )
            return [row[0] for row in rows]

    def read_chunk_keys(self, max_chunk_chars: int) -> "tuple[Int64Array, Int64Array]":
        """For each chunk of one cut, its file and the key of its text, in two columns."""
        import numpy as np  # noqa: PLC0415 - the catalogue is opened before it is needed

        pairs = np.dtype([("file", np.int64), ("key", np.int64)])
        with self._read_transaction() as database:
            rows = database.execute(
                "SELECT file_id, key FROM chunk WHERE input_length = ?", (max_chunk_chars,)
            )
            found = np.fromiter(rows, dtype=pairs)
        return found["file"], found["key"]

    def read_all_keys(self) -> "Int64Array":
        """The keys of all chunks, whatever their cut; read from an index of the database alone."""
        import numpy as np  # noqa: PLC0415 - the catalogue is opened before it is needed

        with self._read_transaction() as database:
            rows = database.execute("SELECT key FROM chunk")
            return np.fromiter((key for (key,) in rows), np.int64)

    def count_texts(self) -> int:
        """How many different texts all chunks have."""
        with self._read_transaction() as database:
            (count,) = database.execute("SELECT count(DISTINCT key) FROM chunk").fetchone()
            return int(count)

    def find_path(self, file_id: int) -> str | None:
        """The path of a file."""
        with self._read_transaction() as database:
            row = database.execute("SELECT path FROM file WHERE id = ?", (file_id,)).fetchone()
            return decode_stored_path(row[0]) if row else None

    def find_files_named(self, names: Collection[str]) -> dict[str, int]:
        """The ids of the files with one of these names, with or without their extension."""
        wanted = {name.lower() for name in names}
        # LIKE knows the capitals of ASCII only; with other names every path is looked at here.
        likely = [f"%{name}%" for name in wanted] if all(map(str.isascii, wanted)) else ["%"]
        found: dict[str, int] = {}
        with self._read_transaction() as database:
            for portion in _split_parameters(likely):
                either = " OR ".join(["CAST(path AS TEXT) LIKE ?"] * len(portion))
                rows = database.execute(
                    f"SELECT path, id FROM file WHERE {either} ORDER BY path",  # noqa: S608 - question marks
                    portion,
                )
                found.update((decode_stored_path(path), number) for path, number in rows)
        return {
            path: found[path] for path in found if not wanted.isdisjoint(_split_file_names(path))
        }

    def iterate_documents(
        self, is_wanted: Callable[[str, str], bool], file_ids: Collection[int] | None = None
    ) -> Generator[tuple[int, str, str], None, None]:
        """Id, path and text of each file whose path and language are wanted, ordered by path.

        ``among`` limits it to files with these ids. One text at a time is in memory; the answer is
        from one moment, however long it takes, so it is to be closed when no more is wanted.
        """
        with self._read_transaction() as database:
            rows = database.execute("SELECT id, path, language FROM file ORDER BY path")
            for file_id, stored, language in rows:
                path = decode_stored_path(stored)
                if (file_ids is None or file_id in file_ids) and is_wanted(path, language):
                    (text,) = database.execute(
                        "SELECT text FROM document WHERE file_id = ?", (file_id,)
                    ).fetchone()
                    yield file_id, path, decompress_text(text)

    def find_files_of_chunks(self, ids: Sequence[int]) -> set[int]:
        """The files that the chunks with these ids are of."""
        found: set[int] = set()
        with self._read_transaction() as database:
            for portion in _split_parameters(ids):
                rows = database.execute(
                    (
                        "SELECT DISTINCT file_id FROM chunk "  # noqa: S608
                        f"WHERE id IN ({_format_placeholders(portion)})"
                    ),
                    portion,
                )
                found.update(row[0] for row in rows)
        return found

    def read_document(self, file_id: int) -> str:
        """The text of a file as it was read; empty if the file is gone."""
        with self._read_transaction() as database:
            row = database.execute(
                "SELECT text FROM document WHERE file_id = ?", (file_id,)
            ).fetchone()
            return decompress_text(row[0]) if row else ""

    def list_chunks(self, file_id: int, max_chunk_chars: int | None = None) -> list[IndexedChunk]:
        """The chunks of one file in order, of one cut or of all."""
        chosen = "" if max_chunk_chars is None else " AND chunk.input_length = ?"
        parameters = (file_id,) if max_chunk_chars is None else (file_id, max_chunk_chars)
        with self._read_transaction() as database:
            rows = database.execute(
                f"SELECT {CHUNK_COLUMNS} FROM chunk JOIN file ON file.id = chunk.file_id"  # noqa: S608 - constants
                f" WHERE chunk.file_id = ?{chosen} ORDER BY chunk.input_length, chunk.begin_char",
                parameters,
            )
            return [parse_chunk_row(row) for row in rows]

    def find_chunks(self, ids: Sequence[int]) -> dict[int, IndexedChunk]:
        """The chunks with these ids that still exist."""
        with self._borrow_reader() as reader:
            return reader.find_chunks(ids)

    def find_chunks_by_key(self, keys: Sequence[int]) -> dict[int, list[IndexedChunk]]:
        """For each key, the chunks whose text it names; several files may hold the same text."""
        with self._borrow_reader() as reader:
            return reader.find_chunks_by_key(keys)

    def read_chunk_texts(self, ids: Sequence[int]) -> dict[int, str]:
        """The text of each chunk that still exists, by its id."""
        with self._borrow_reader() as reader:
            return reader.read_chunk_texts(ids)

    def close(self) -> None:
        """Close every connection; questions still being answered close theirs when done."""
        self._closed.set()
        with suppress(IndexError):
            while True:
                self._idle_readers.pop().database.close()

    @contextmanager
    def _read_transaction(self) -> Iterator[sqlite3.Connection]:
        """A connection for one question, inside a read transaction."""
        with self._borrow_reader() as reader:
            yield reader.database

    @contextmanager
    def _borrow_reader(self) -> Iterator[CachedCatalogReader]:
        """The same, with what was read before."""
        if self._closed.is_set():
            raise StorageError("the index is closed")
        with translate_sqlite_errors(self.path):
            try:
                reader = self._idle_readers.pop()
            except IndexError:
                reader = CachedCatalogReader(
                    connect_catalog(self.path, read_only=True), self._text_cache
                )
            try:
                reader.database.execute("BEGIN")
                yield reader
                reader.database.execute("COMMIT")
            except BaseException:
                reader.database.close()
                raise
            if self._closed.is_set():
                reader.database.close()
            else:
                self._idle_readers.append(reader)


def _read_file_identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _split_file_names(path: str) -> set[str]:
    """The name of a file, in small letters, whole and without its extension."""
    name = path.rpartition("/")[2].lower()
    return {name, name.rpartition(".")[0] or name}


def _split_parameters(values: Sequence[Value]) -> Iterator[Sequence[Value]]:
    for start in range(0, len(values), MAX_SQL_PARAMETERS):
        yield values[start : start + MAX_SQL_PARAMETERS]


def _format_placeholders(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))
