"""The rows of the catalog: connections, columns and values, and a cache of what readers have read.

The cache is invalidated when another connection commits (PRAGMA data_version).
"""

import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from codekernel.domain.index import FileRecord, IndexedChunk
from codekernel.storage.engines import close_on_error, connect_sqlite, open_with_fallbacks
from codekernel.storage.safe_files import create_private_file

Key = TypeVar("Key", int, str)

Value = TypeVar("Value")

Row: TypeAlias = tuple[Any, ...]

# Waiting for another connection's commit; a writer holds the lock for milliseconds.
BUSY_TIMEOUT_SECONDS = 10.0

# Below what any SQLite takes as the parameters of one statement.
MAX_SQL_PARAMETERS = 500

# Between names in one column; no name contains it.
_SEPARATOR = "\x1f"

# Paths and lists of names that were read before; the same few are read again and again.
_MAX_CACHED_COLUMNS = 65_536

# Level 1: half a millisecond for a hundred kilobytes, and a third of their size.
_COMPRESSION_LEVEL = 1

SELECT_CHUNKS = (
    "SELECT chunk.id, file.path, file.language, chunk.input_length, chunk.key, chunk.begin_line,"
    " chunk.end_line, chunk.begin_char, chunk.end_char, chunk.kind, chunk.symbols, chunk.signature,"
    " chunk.defines FROM chunk JOIN file ON file.id = chunk.file_id"
)

SELECT_FILES = "SELECT path, id, size, mtime_ns, digest FROM file"

_TEXTS = (
    "SELECT chunk.id, file_id, begin_char, end_char, document.text FROM chunk"
    " JOIN document USING (file_id)"
)


def connect_catalog(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Return a connection that any thread may use, one at a time; also where the disk is full."""
    if not read_only:
        create_private_file(path)
    return open_with_fallbacks(path, _connect_address, sqlite3.Error, read_only=read_only)


def _connect_address(address: str) -> sqlite3.Connection:
    database = connect_sqlite(address, BUSY_TIMEOUT_SECONDS)
    with close_on_error(database):
        database.execute("PRAGMA foreign_keys = ON")
        database.execute("SELECT 1 FROM sqlite_master").fetchone()  # this opens the log
    return database


def query_in(
    database: sqlite3.Connection, statement: str, values: Sequence[object]
) -> Iterator[Row]:
    """Run a statement that ends in ``IN`` with any number of values."""
    for portion in split_parameters(values):
        marks = ",".join("?" * len(portion))
        yield from database.execute(f"{statement} ({marks})", portion).fetchall()


def split_parameters(values: Sequence[Value]) -> Iterator[Sequence[Value]]:
    """Split values into as many as one statement takes."""
    for start in range(0, len(values), MAX_SQL_PARAMETERS):
        yield values[start : start + MAX_SQL_PARAMETERS]


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


def parse_file_row(row: Row) -> tuple[str, FileRecord]:
    """Return path and record of a row of SELECT_FILES."""
    return decode_stored_path(row[0]), FileRecord(*row[1:])


def parse_chunk_row(row: Row) -> IndexedChunk:
    """Return the chunk of a row of SELECT_CHUNKS."""
    symbols, names = split_names(row[10]), split_names(row[12])
    return IndexedChunk(
        *(row[5], row[6], row[7], row[8], row[9], symbols, row[11], names),
        id=row[0],
        path=_decode_cached_path(row[1]),
        language=row[2],
        max_chunk_chars=row[3],
        text_hash=row[4],
    )


_decode_cached_path = lru_cache(_MAX_CACHED_COLUMNS)(decode_stored_path)


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


# Chunks, keys or files, per connection: this many chunks take 12 MB, and one connection answers
# nearly all searches.
MAX_CACHED_ROWS = 16_384

# For each repository, in characters: some thousand chunks, of which a search shows ten.
MAX_CACHED_TEXT_CHARS = 8_000_000


class ChunkTextCache:
    """Texts of chunks; shared by all readers of a catalog.

    The key of a chunk is a hash of its symbols and text together; with the length of the text it
    identifies the text.
    """

    def __init__(self, max_chars: int = MAX_CACHED_TEXT_CHARS) -> None:
        self._max_chars = max_chars
        self._cached: dict[tuple[int, int], str] = {}
        self._characters = 0

    def get(self, chunk: IndexedChunk) -> str | None:
        """Return the text, if it is cached."""
        return self._cached.get((chunk.text_hash, chunk.end - chunk.begin))

    def put(self, chunk: IndexedChunk, text: str) -> None:
        """Cache a text; of several threads that do so at once, one may be lost."""
        if self._characters > self._max_chars:
            self._cached, self._characters = {}, 0
        self._cached[chunk.text_hash, chunk.end - chunk.begin] = text
        self._characters += len(text)


class CachedCatalogReader:
    """A connection and the rows it has read; used by one thread at a time."""

    def __init__(
        self,
        database: sqlite3.Connection,
        text_cache: ChunkTextCache,
        max_rows: int = MAX_CACHED_ROWS,
    ) -> None:
        self.database = database
        self._max_rows = max_rows
        self._text_cache = text_cache
        self._version = -1
        self._chunk_cache: dict[int, IndexedChunk | None] = {}
        self._key_cache: dict[int, list[IndexedChunk] | None] = {}
        self._file_cache: dict[str, FileRecord | None] = {}

    def find_chunks(self, ids: Sequence[int]) -> dict[int, IndexedChunk]:
        """Return the chunks with these ids that still exist."""
        return self._look_up(self._chunk_cache, ids, self._read_chunks)

    def find_chunks_by_key(self, keys: Sequence[int]) -> dict[int, list[IndexedChunk]]:
        """Return for each key the chunks with that text."""
        return self._look_up(self._key_cache, keys, self._read_keys)

    def find_files(self, paths: Sequence[str]) -> dict[str, FileRecord]:
        """Return those of the paths that are indexed files."""
        return self._look_up(self._file_cache, paths, self._read_files)

    def read_chunk_texts(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the text of each chunk that still exists, by its id."""
        chunks = self.find_chunks(ids)
        found = {number: self._text_cache.get(chunk) for number, chunk in chunks.items()}
        lacking = [number for number, text in found.items() if text is None]
        for number, text in self._read_texts(lacking):
            found[number] = text
            self._text_cache.put(chunks[number], text)
        return {number: text for number, text in found.items() if text is not None}

    def _look_up(
        self,
        cache: dict[Key, Value | None],
        wanted: Sequence[Key],
        read: Callable[[Sequence[Key]], Iterable[tuple[Key, Value]]],
    ) -> dict[Key, Value]:
        """Read what is not cached; that something does not exist is cached too."""
        # The first statement: it begins the snapshot.
        (version,) = self.database.execute("PRAGMA data_version").fetchone()
        caches = (self._chunk_cache, self._key_cache, self._file_cache)
        if version != self._version or any(len(each) > self._max_rows for each in caches):
            self._version = version
            for each in caches:
                each.clear()
        lacking = [key for key in wanted if key not in cache]
        if lacking:
            cache.update(dict.fromkeys(lacking))
            cache.update(read(lacking))
        return {key: found for key in wanted if (found := cache[key]) is not None}

    def _read_chunks(self, ids: Sequence[int]) -> Iterator[tuple[int, IndexedChunk]]:
        for row in query_in(self.database, f"{SELECT_CHUNKS} WHERE chunk.id IN", ids):
            yield row[0], parse_chunk_row(row)

    def _read_keys(self, keys: Sequence[int]) -> Iterable[tuple[int, list[IndexedChunk]]]:
        by_key: dict[int, list[IndexedChunk]] = {}
        for row in query_in(self.database, f"{SELECT_CHUNKS} WHERE chunk.key IN", keys):
            chunk = self._chunk_cache.get(row[0]) or parse_chunk_row(row)
            self._chunk_cache[chunk.id] = chunk
            by_key.setdefault(chunk.text_hash, []).append(chunk)
        return by_key.items()

    def _read_files(self, paths: Sequence[str]) -> Iterator[tuple[str, FileRecord]]:
        stored = [encode_stored_path(path) for path in paths]
        return map(parse_file_row, query_in(self.database, f"{SELECT_FILES} WHERE path IN", stored))

    def _read_texts(self, ids: Sequence[int]) -> Iterator[tuple[int, str]]:
        file, text = -1, ""
        rows = query_in(self.database, f"{_TEXTS} WHERE chunk.id IN", ids)
        for number, file_id, begin, end, stored in sorted(rows, key=lambda row: row[1]):
            if file_id != file:
                file, text = file_id, decompress_text(stored)
            yield number, text[begin:end]
