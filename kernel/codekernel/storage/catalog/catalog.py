"""Read the catalog of an index: files, chunks, texts and skipped files.

Any number of threads may read; each query is answered from one snapshot.
"""

import re
import threading
from array import array
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import TypeVar

from codekernel.domain.index import FileRecord, IndexedChunk, SkippedFileRecord
from codekernel.errors import StorageError
from codekernel.storage.catalog.rows import (
    MAX_CACHED_ROWS,
    MAX_CACHED_TEXT_CHARS,
    SELECT_CHUNKS,
    SELECT_FILES,
    CachedCatalogReader,
    ChunkTextCache,
    Row,
    compress_text,
    connect_catalog,
    decode_stored_path,
    decompress_text,
    encode_stored_path,
    parse_chunk_row,
    parse_file_row,
    query_in,
    split_names,
    split_parameters,
)
from codekernel.storage.engines import read_file_identity, translate_sqlite_errors
from codekernel.storage.safe_files import add_suffix

_Parsed = TypeVar("_Parsed")

_TEXT = "SELECT text FROM document WHERE file_id = ?"

_SKIPPED = "SELECT path, reason, detail, size, mtime_ns FROM refused"


# Each has a page cache of up to 16 MB and rows of its own. Fifty clients that search at once have
# fifty readers, of which most are never needed again; another one is opened in 0.3 ms.
MAX_IDLE_READERS = 4


class Catalog:
    """The catalog of one index, open for reading."""

    def __init__(
        self,
        path: Path,
        *,
        max_cached_rows: int = MAX_CACHED_ROWS,
        max_cached_text_chars: int = MAX_CACHED_TEXT_CHARS,
    ) -> None:
        self.path = path
        # The last one used is the next one used: it has cached most.
        self._idle_readers: deque[CachedCatalogReader] = deque()
        self._max_cached_rows = max_cached_rows
        self._text_cache = ChunkTextCache(max_cached_text_chars)
        self._is_closed = False
        # No reader is opened during or after ``close``: the database may be quarantined then, and
        # a connection that is opened meanwhile would leave its -wal and -shm to the next database.
        self._lock = threading.Lock()
        self._identity = read_file_identity(path)

    def list_files(self) -> dict[str, FileRecord]:
        """Return every indexed file by its path."""
        return dict(self._parse(parse_file_row, SELECT_FILES))

    def list_files_under(self, folder: str) -> dict[str, FileRecord]:
        """Return the indexed files of a folder and of the folders in it."""
        # 0 comes after /.
        bounds = encode_stored_path(f"{folder}/"), encode_stored_path(f"{folder}0")
        statement = f"{SELECT_FILES} WHERE path >= ? AND path < ?"
        return dict(self._parse(parse_file_row, statement, *bounds))

    def find_file(self, path: str) -> FileRecord | None:
        """Return one indexed file."""
        return self.find_files([path]).get(path)

    def find_files(self, paths: Sequence[str]) -> dict[str, FileRecord]:
        """Return those of the paths that are indexed files."""
        with self._borrow_reader() as reader:
            return reader.find_files(paths)

    def list_skipped(self, reason: str = "") -> dict[str, SkippedFileRecord]:
        """Return every file that was read and not indexed, for any reason or one, by its path."""
        where, values = (" WHERE reason = ?", (reason,)) if reason else ("", ())
        found = self._parse(_parse_skipped_row, f"{_SKIPPED}{where}", *values)
        return {file.path: file for file in found}

    def list_first_skipped(self, limit: int) -> tuple[list[SkippedFileRecord], int]:
        """Return the first skipped files by path, and how many there are."""
        with self._borrow_reader() as reader:
            rows = reader.database.execute(f"{_SKIPPED} ORDER BY path LIMIT ?", (limit,))
            files = [_parse_skipped_row(row) for row in rows]
            (total,) = reader.database.execute("SELECT count(*) FROM refused").fetchone()
        return files, int(total)

    def find_skipped(self, path: str) -> SkippedFileRecord | None:
        """Return why one file is not indexed, if that is known."""
        statement, stored = f"{_SKIPPED} WHERE path = ?", encode_stored_path(path)
        return next(iter(self._parse(_parse_skipped_row, statement, stored)), None)

    def list_symbol_names(self, limit: int) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Return up to ``limit`` distinct pairs of enclosing symbols and defined names."""
        rows = self._query("SELECT DISTINCT symbols, defines FROM chunk LIMIT ?", limit)
        return [(split_names(around), split_names(own)) for around, own in rows]

    @property
    def is_in_place(self) -> bool:
        """Return whether the file that was opened is still the one at its path."""
        return read_file_identity(self.path) == self._identity

    @property
    def is_empty(self) -> bool:
        """Return whether no file is indexed; fast, however many there are."""
        return not self._query("SELECT 1 FROM file LIMIT 1")

    def count_contents(self) -> tuple[int, int, int]:
        """Count the files, chunks and skipped files."""
        files, chunks, skipped = self._query(
            "SELECT (SELECT count(*) FROM file), (SELECT count(*) FROM chunk),"
            " (SELECT count(*) FROM refused)"
        )[0]
        return files, chunks, skipped

    def read_signature(self) -> tuple[tuple[int, int], ...]:
        """Return what is another after each commit: sizes and times of the database's files."""
        found = []
        for path in (self.path, add_suffix(self.path, "-wal")):
            with suppress(OSError):
                status = path.stat()
                found.append((status.st_size, status.st_mtime_ns))
        return tuple(found)

    def list_chunk_ids(self, limit: int) -> list[int]:
        """Return the ids of up to so many chunks."""
        return [row[0] for row in self._query("SELECT id FROM chunk LIMIT ?", limit)]

    def count_skipped_by_reason(self) -> dict[str, int]:
        """Count the skipped files by reason."""
        return dict(self._query("SELECT reason, count(*) FROM refused GROUP BY reason"))

    def list_chunk_sizes(self) -> list[int]:
        """Return the chunk sizes (max_chunk_chars) for which there are chunks."""
        return sorted(row[0] for row in self._query("SELECT DISTINCT input_length FROM chunk"))

    def list_unchunked_files(self, max_chunk_chars: int) -> list[int]:
        """Return the ids of the files that have no chunks of this size, except empty files."""
        rows = self._query(
            "SELECT id FROM file WHERE NOT EXISTS (SELECT 1 FROM chunk"
            " WHERE chunk.file_id = file.id AND chunk.input_length = ?)"
            " AND NOT EXISTS (SELECT 1 FROM document"
            " WHERE document.file_id = file.id AND document.text = ?) ORDER BY id",
            max_chunk_chars,
            compress_text(""),
        )
        return [row[0] for row in rows]

    def read_chunk_keys(self, max_chunk_chars: int) -> "tuple[array[int], array[int]]":
        """Return two columns: the file and the key of each chunk of one size."""
        with self._borrow_reader() as reader:
            rows = reader.database.execute(
                "SELECT file_id, key FROM chunk WHERE input_length = ?", (max_chunk_chars,)
            )
            found = array("q", chain.from_iterable(rows))
        return found[0::2], found[1::2]

    def read_text_lengths(self, max_chunk_chars: int) -> "tuple[array[int], array[int]]":
        """Return two columns: the key and the characters of each chunk of one size."""
        with self._borrow_reader() as reader:
            rows = reader.database.execute(
                "SELECT key, end_char - begin_char FROM chunk WHERE input_length = ?",
                (max_chunk_chars,),
            )
            found = array("q", chain.from_iterable(rows))
        return found[0::2], found[1::2]

    def read_all_keys(self) -> "array[int]":
        """Return the keys of all chunks of any size; only an index of the database is read."""
        with self._borrow_reader() as reader:
            return array("q", chain.from_iterable(reader.database.execute("SELECT key FROM chunk")))

    def count_texts(self) -> int:
        """Count the different texts of all chunks."""
        return int(self._query("SELECT count(DISTINCT key) FROM chunk")[0][0])

    def find_path(self, file_id: int) -> str | None:
        """Return the path of a file."""
        statement = "SELECT path FROM file WHERE id = ?"
        paths = self._parse(lambda row: decode_stored_path(row[0]), statement, file_id)
        return paths[0] if paths else None

    def find_files_named(self, names: Collection[str]) -> dict[str, int]:
        """Return the ids of the files with one of these names, with or without extension."""
        wanted = {name.lower() for name in names}
        # LIKE knows the capitals of ASCII only; with other names every path is compared here.
        likely = [f"%{name}%" for name in wanted] if all(map(str.isascii, wanted)) else ["%"]
        found: dict[str, int] = {}
        with self._borrow_reader() as reader:
            for portion in split_parameters(likely):
                either = " OR ".join(["CAST(path AS TEXT) LIKE ?"] * len(portion))
                rows = reader.database.execute(
                    f"SELECT path, id FROM file WHERE {either} ORDER BY path",  # noqa: S608 - question marks
                    portion,
                )
                found.update((decode_stored_path(path), number) for path, number in rows)
        return {
            path: found[path] for path in found if not wanted.isdisjoint(split_file_names(path))
        }

    def iterate_documents(
        self, is_wanted: Callable[[str, str], bool], file_ids: Collection[int] | None = None
    ) -> Generator[tuple[int, str, str], None, None]:
        """Yield id, path and text of each file whose path and language are wanted, by path.

        ``file_ids`` limits it to files with these ids. One text at a time is in memory; the answer
        is from one snapshot, so close the generator when no more is wanted.
        """
        with self._borrow_reader() as reader:
            rows = reader.database.execute("SELECT id, path, language FROM file ORDER BY path")
            for file_id, stored, language in rows:
                path = decode_stored_path(stored)
                if (file_ids is None or file_id in file_ids) and is_wanted(path, language):
                    (text,) = reader.database.execute(_TEXT, (file_id,)).fetchone()
                    yield file_id, path, decompress_text(text)

    def find_files_of_chunks(self, ids: Sequence[int]) -> set[int]:
        """Return the ids of the files of these chunks."""
        with self._borrow_reader() as reader:
            rows = query_in(reader.database, "SELECT DISTINCT file_id FROM chunk WHERE id IN", ids)
            return {row[0] for row in rows}

    def read_document(self, file_id: int) -> str:
        """Return the text of a file as it was read; empty if the file is gone."""
        return "".join(self._parse(lambda row: decompress_text(row[0]), _TEXT, file_id))

    def list_chunks(self, file_id: int, max_chunk_chars: int | None = None) -> list[IndexedChunk]:
        """Return the chunks of one file in order, of one size or of all."""
        chosen = "" if max_chunk_chars is None else " AND chunk.input_length = ?"
        return self._parse(
            parse_chunk_row,
            f"{SELECT_CHUNKS} WHERE chunk.file_id = ?{chosen}"
            " ORDER BY chunk.input_length, chunk.begin_char",
            *((file_id,) if max_chunk_chars is None else (file_id, max_chunk_chars)),
        )

    def list_chunk_spans(
        self, file_id: int, max_chunk_chars: int
    ) -> list[tuple[int, int, int, tuple[str, ...]]]:
        """Return key, begin, end and symbols of the chunks of one file and size, in order."""
        rows = self._query(
            "SELECT key, begin_char, end_char, symbols FROM chunk"
            " WHERE file_id = ? AND input_length = ? ORDER BY begin_char",
            file_id,
            max_chunk_chars,
        )
        return [(key, begin, end, split_names(symbols)) for key, begin, end, symbols in rows]

    def list_keys(self, file_id: int) -> list[int]:
        """Return the keys of the chunks of a file, of any size."""
        return [row[0] for row in self._query("SELECT key FROM chunk WHERE file_id = ?", file_id)]

    def find_chunks(self, ids: Sequence[int]) -> dict[int, IndexedChunk]:
        """Return the chunks with these ids that still exist."""
        with self._borrow_reader() as reader:
            return reader.find_chunks(ids)

    def find_chunks_by_key(self, keys: Sequence[int]) -> dict[int, list[IndexedChunk]]:
        """Return for each key the chunks with that text; several files may hold the same text."""
        with self._borrow_reader() as reader:
            return reader.find_chunks_by_key(keys)

    def find_chunks_defining(self, part: str, limit: int) -> list[IndexedChunk]:
        """Return chunks of one size that define a name which contains ``part``, in any case."""
        sizes = self.list_chunk_sizes()
        pattern = re.sub(r"([\\%_])", r"\\\1", part)
        return self._parse(
            parse_chunk_row,
            f"{SELECT_CHUNKS} WHERE chunk.defines LIKE ? ESCAPE '\\'"
            " AND chunk.input_length = ? LIMIT ?",
            *(f"%{pattern}%", min(sizes, default=0), limit),
        )

    def read_chunk_texts(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the text of each chunk that still exists, by its id."""
        with self._borrow_reader() as reader:
            return reader.read_chunk_texts(ids)

    def close(self) -> None:
        """Close every idle connection; those in use are closed after their query."""
        with self._lock:
            self._is_closed = True
            self._text_cache = ChunkTextCache(0)
        with suppress(IndexError):
            while True:
                self._idle_readers.pop().database.close()

    def _query(self, statement: str, *values: object) -> list[Row]:
        return self._parse(tuple, statement, *values)

    def _parse(
        self, parse: Callable[[Row], _Parsed], statement: str, *values: object
    ) -> list[_Parsed]:
        """Return what ``parse`` makes of each row; what it raises is damage."""
        with self._borrow_reader() as reader:
            return [parse(row) for row in reader.database.execute(statement, values)]

    @contextmanager
    def _borrow_reader(self) -> Iterator[CachedCatalogReader]:
        """Yield a connection with its cache, inside a read transaction."""
        with translate_sqlite_errors(self.path):
            try:
                reader = self._idle_readers.pop()
            except IndexError:
                reader = self._open_reader()
            try:
                reader.database.execute("BEGIN")
                yield reader
                reader.database.execute("COMMIT")
            except BaseException:
                reader.database.close()
                raise
            with self._lock:
                if self._is_closed or len(self._idle_readers) >= MAX_IDLE_READERS:
                    reader.database.close()
                else:
                    self._idle_readers.append(reader)

    def _open_reader(self) -> CachedCatalogReader:
        with self._lock:
            if self._is_closed:
                raise StorageError("the index is closed")
            database = connect_catalog(self.path, read_only=True)
        return CachedCatalogReader(database, self._text_cache, self._max_cached_rows)


def _parse_skipped_row(row: Row) -> SkippedFileRecord:
    return SkippedFileRecord(decode_stored_path(row[0]), *row[1:])


def split_file_names(path: str) -> set[str]:
    """Return the lower-case name of a file, whole and without its extension."""
    name = path.rpartition("/")[2].lower()
    return {name, name.rpartition(".")[0] or name}
