"""A cache of catalog rows and chunk texts for readers.

Invalidated when another connection commits (PRAGMA data_version).
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from codekernel.domain.index import FileRecord, IndexedChunk
from codekernel.storage.catalog.schema import (
    CHUNK_COLUMNS,
    decode_stored_path,
    decompress_text,
    encode_stored_path,
    parse_chunk_row,
)

Key = TypeVar("Key", int, str)

Value = TypeVar("Value")

# Below what any SQLite takes as the parameters of one statement.
MAX_SQL_PARAMETERS = 500

# Chunks, keys or files, for each connection: so many chunks take 12 MB, and one connection answers
# nearly all searches.
MAX_CACHED_ROWS = 16_384

# For each repository, in characters: some thousand chunks, of which a search shows ten.
MAX_CACHED_TEXT_CHARS = 8_000_000

_CHUNKS = f"SELECT {CHUNK_COLUMNS} FROM chunk JOIN file ON file.id = chunk.file_id"  # noqa: S608

_FILES = "SELECT path, id, size, mtime_ns, digest FROM file"

_TEXTS = (
    "SELECT chunk.id, file_id, begin_char, end_char, document.text FROM chunk"
    " JOIN document USING (file_id)"
)


class ChunkTextCache:
    """Texts of chunks; shared by all readers of a catalogue.

    The key of a chunk names the names around it and its text together, so that with the length
    of the text it names the text.
    """

    def __init__(self) -> None:
        self._cached: dict[tuple[int, int], str] = {}
        self._characters = 0

    def get(self, chunk: IndexedChunk) -> str | None:
        """The text, if it is remembered."""
        return self._cached.get((chunk.text_hash, chunk.end - chunk.begin))

    def put(self, chunk: IndexedChunk, text: str) -> None:
        """Remember a text; of several threads that do so at once, one may be forgotten."""
        if self._characters > MAX_CACHED_TEXT_CHARS:
            self._cached, self._characters = {}, 0
        self._cached[chunk.text_hash, chunk.end - chunk.begin] = text
        self._characters += len(text)


class CachedCatalogReader:
    """A connection and what is known of its present moment; used by one thread at a time."""

    def __init__(self, database: sqlite3.Connection, text_cache: ChunkTextCache) -> None:
        self.database = database
        self._text_cache = text_cache
        self._version = -1
        self._chunk_cache: dict[int, IndexedChunk | None] = {}
        self._key_cache: dict[int, list[IndexedChunk] | None] = {}
        self._file_cache: dict[str, FileRecord | None] = {}

    def find_chunks(self, ids: Sequence[int]) -> dict[int, IndexedChunk]:
        """The chunks with these ids that still exist."""
        self._invalidate_if_changed()
        _fill_cache(self._chunk_cache, ids, self._read_chunks)
        return _select_existing(self._chunk_cache, ids)

    def find_chunks_by_key(self, keys: Sequence[int]) -> dict[int, list[IndexedChunk]]:
        """For each key, the chunks whose text it names."""
        self._invalidate_if_changed()
        _fill_cache(self._key_cache, keys, self._read_keys)
        return _select_existing(self._key_cache, keys)

    def find_files(self, paths: Sequence[str]) -> dict[str, FileRecord]:
        """Those of the paths that are indexed files."""
        self._invalidate_if_changed()
        _fill_cache(self._file_cache, paths, self._read_files)
        return _select_existing(self._file_cache, paths)

    def read_chunk_texts(self, ids: Sequence[int]) -> dict[int, str]:
        """The text of each chunk that still exists, by its id."""
        chunks = self.find_chunks(ids)
        found = {number: self._text_cache.get(chunk) for number, chunk in chunks.items()}
        lacking = [number for number, text in found.items() if text is None]
        for number, text in self._read_texts(lacking):
            found[number] = text
            self._text_cache.put(chunks[number], text)
        return {number: text for number, text in found.items() if text is not None}

    def _invalidate_if_changed(self) -> None:
        """Forget what may have changed, or is too much; this begins the moment that is read."""
        (version,) = self.database.execute("PRAGMA data_version").fetchone()
        memories = (self._chunk_cache, self._key_cache, self._file_cache)
        if version != self._version or any(len(memory) > MAX_CACHED_ROWS for memory in memories):
            self._version = version
            for memory in memories:
                memory.clear()

    def _read_chunks(self, ids: Sequence[int]) -> Iterator[tuple[int, IndexedChunk]]:
        for row in self._query(f"{_CHUNKS} WHERE chunk.id IN", ids):
            yield row[0], parse_chunk_row(row)

    def _read_keys(self, keys: Sequence[int]) -> Iterable[tuple[int, list[IndexedChunk]]]:
        by_key: dict[int, list[IndexedChunk]] = {}
        for row in self._query(f"{_CHUNKS} WHERE chunk.key IN", keys):
            chunk = self._chunk_cache.get(row[0]) or parse_chunk_row(row)
            self._chunk_cache[chunk.id] = chunk
            by_key.setdefault(chunk.text_hash, []).append(chunk)
        return by_key.items()

    def _read_files(self, paths: Sequence[str]) -> Iterator[tuple[str, FileRecord]]:
        for path, *known in self._query(
            f"{_FILES} WHERE path IN", list(map(encode_stored_path, paths))
        ):
            yield decode_stored_path(path), FileRecord(*known)

    def _read_texts(self, ids: Sequence[int]) -> Iterator[tuple[int, str]]:
        file, text = -1, ""
        rows = self._query(f"{_TEXTS} WHERE chunk.id IN", ids)
        for number, file_id, begin, end, stored in sorted(rows, key=lambda row: row[1]):
            if file_id != file:
                file, text = file_id, decompress_text(stored)
            yield number, text[begin:end]

    def _query(self, statement: str, values: Sequence[object]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(values), MAX_SQL_PARAMETERS):
            portion = values[start : start + MAX_SQL_PARAMETERS]
            marks = ",".join("?" * len(portion))
            yield from self.database.execute(f"{statement} ({marks})", portion).fetchall()


def _fill_cache(
    cache: dict[Key, Value | None],
    wanted: Sequence[Key],
    read: Callable[[Sequence[Key]], Iterable[tuple[Key, Value]]],
) -> None:
    """Read what is not remembered; that something does not exist is remembered too."""
    lacking = [key for key in wanted if key not in cache]
    if lacking:
        cache.update(dict.fromkeys(lacking))
        cache.update(read(lacking))


def _select_existing(cache: Mapping[Key, Value | None], wanted: Iterable[Key]) -> dict[Key, Value]:
    return {key: found for key in wanted if (found := cache[key]) is not None}
