"""A cache of catalog rows and chunk texts for readers.

It is invalidated when another connection commits (PRAGMA data_version).
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from codekernel.domain.index import FileRecord, IndexedChunk
from codekernel.storage.catalog.schema import (
    CHUNK_COLUMNS,
    decode_stored_path,
    decompress_text,
    encode_stored_path,
    parse_chunk_row,
)
from codekernel.storage.sqlite_files import query_in

Key = TypeVar("Key", int, str)

Value = TypeVar("Value")

# Chunks, keys or files, per connection: this many chunks take 12 MB, and one connection answers
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
        self._invalidate_if_changed()
        _fill_cache(self._chunk_cache, ids, self._read_chunks)
        return _select_existing(self._chunk_cache, ids)

    def find_chunks_by_key(self, keys: Sequence[int]) -> dict[int, list[IndexedChunk]]:
        """Return for each key the chunks with that text."""
        self._invalidate_if_changed()
        _fill_cache(self._key_cache, keys, self._read_keys)
        return _select_existing(self._key_cache, keys)

    def find_files(self, paths: Sequence[str]) -> dict[str, FileRecord]:
        """Return those of the paths that are indexed files."""
        self._invalidate_if_changed()
        _fill_cache(self._file_cache, paths, self._read_files)
        return _select_existing(self._file_cache, paths)

    def read_chunk_texts(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the text of each chunk that still exists, by its id."""
        chunks = self.find_chunks(ids)
        found = {number: self._text_cache.get(chunk) for number, chunk in chunks.items()}
        lacking = [number for number, text in found.items() if text is None]
        for number, text in self._read_texts(lacking):
            found[number] = text
            self._text_cache.put(chunks[number], text)
        return {number: text for number, text in found.items() if text is not None}

    def _invalidate_if_changed(self) -> None:
        """Clear the caches after a commit, or when they are full; this begins the snapshot."""
        (version,) = self.database.execute("PRAGMA data_version").fetchone()
        caches = (self._chunk_cache, self._key_cache, self._file_cache)
        if version != self._version or any(len(cache) > self._max_rows for cache in caches):
            self._version = version
            for cache in caches:
                cache.clear()

    def _read_chunks(self, ids: Sequence[int]) -> Iterator[tuple[int, IndexedChunk]]:
        for row in query_in(self.database, f"{_CHUNKS} WHERE chunk.id IN", ids):
            yield row[0], parse_chunk_row(row)

    def _read_keys(self, keys: Sequence[int]) -> Iterable[tuple[int, list[IndexedChunk]]]:
        by_key: dict[int, list[IndexedChunk]] = {}
        for row in query_in(self.database, f"{_CHUNKS} WHERE chunk.key IN", keys):
            chunk = self._chunk_cache.get(row[0]) or parse_chunk_row(row)
            self._chunk_cache[chunk.id] = chunk
            by_key.setdefault(chunk.text_hash, []).append(chunk)
        return by_key.items()

    def _read_files(self, paths: Sequence[str]) -> Iterator[tuple[str, FileRecord]]:
        stored = [encode_stored_path(path) for path in paths]
        for path, *known in query_in(self.database, f"{_FILES} WHERE path IN", stored):
            yield decode_stored_path(path), FileRecord(*known)

    def _read_texts(self, ids: Sequence[int]) -> Iterator[tuple[int, str]]:
        file, text = -1, ""
        rows = query_in(self.database, f"{_TEXTS} WHERE chunk.id IN", ids)
        for number, file_id, begin, end, stored in sorted(rows, key=lambda row: row[1]):
            if file_id != file:
                file, text = file_id, decompress_text(stored)
            yield number, text[begin:end]


def _fill_cache(
    cache: dict[Key, Value | None],
    wanted: Sequence[Key],
    read: Callable[[Sequence[Key]], Iterable[tuple[Key, Value]]],
) -> None:
    """Read what is not cached; that something does not exist is cached too."""
    lacking = [key for key in wanted if key not in cache]
    if lacking:
        cache.update(dict.fromkeys(lacking))
        cache.update(read(lacking))


def _select_existing(cache: Mapping[Key, Value | None], wanted: Iterable[Key]) -> dict[Key, Value]:
    return {key: found for key in wanted if (found := cache[key]) is not None}
