"""What a reader of the catalogue remembers of it: rows as values, until somebody writes.

A search looks at two hundred chunks, and the next one at many of the same. SQLite says with one
number, in two microseconds, whether another connection has committed since; then all is forgotten.
Texts of chunks are remembered by what they say, so those are never out of date.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from kernel.domain.indexed import IndexedChunk, KnownFile
from kernel.storage.catalogue_rows import (
    CHUNK_COLUMNS,
    indexed_chunk,
    path_bytes,
    path_text,
    unpacked,
)

Key = TypeVar("Key", int, str)
Value = TypeVar("Value")

# Below what any SQLite takes as the parameters of one statement.
PARAMETERS = 500
# Chunks, keys or files, for each connection: so many chunks take 12 MB, and one connection answers
# nearly all searches.
MOST_REMEMBERED = 16_384
# For each repository, in characters: some thousand chunks, of which a search shows ten.
MOST_TEXT = 8_000_000

_CHUNKS = f"SELECT {CHUNK_COLUMNS} FROM chunk JOIN file ON file.id = chunk.file_id"  # noqa: S608
_FILES = "SELECT path, id, size, mtime_ns, digest FROM file"
_TEXTS = (
    "SELECT chunk.id, file_id, begin_char, end_char, document.text FROM chunk"
    " JOIN document USING (file_id)"
)


class Texts:
    """Texts of chunks; shared by all readers of a catalogue.

    The key of a chunk names the names around it and its text together, so that with the length
    of the text it names the text.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], str] = {}
        self._characters = 0

    def get(self, chunk: IndexedChunk) -> str | None:
        """The text, if it is remembered."""
        return self._known.get((chunk.key, chunk.chunk.end - chunk.chunk.begin))

    def put(self, chunk: IndexedChunk, text: str) -> None:
        """Remember a text; of several threads that do so at once, one may be forgotten."""
        if self._characters > MOST_TEXT:
            self._known, self._characters = {}, 0
        self._known[chunk.key, chunk.chunk.end - chunk.chunk.begin] = text
        self._characters += len(text)


class Reader:
    """A connection and what is known of its present moment; used by one thread at a time."""

    def __init__(self, database: sqlite3.Connection, texts: Texts) -> None:
        self.database = database
        self._texts = texts
        self._version = -1
        self._chunks: dict[int, IndexedChunk | None] = {}
        self._by_key: dict[int, list[IndexedChunk] | None] = {}
        self._files: dict[str, KnownFile | None] = {}

    def chunks(self, ids: Sequence[int]) -> dict[int, IndexedChunk]:
        """The chunks with these ids that still exist."""
        self._look()
        _recall(self._chunks, ids, self._read_chunks)
        return _known(self._chunks, ids)

    def chunks_with_keys(self, keys: Sequence[int]) -> dict[int, list[IndexedChunk]]:
        """For each key, the chunks whose text it names."""
        self._look()
        _recall(self._by_key, keys, self._read_keys)
        return _known(self._by_key, keys)

    def files_at(self, paths: Sequence[str]) -> dict[str, KnownFile]:
        """Those of the paths that are indexed files."""
        self._look()
        _recall(self._files, paths, self._read_files)
        return _known(self._files, paths)

    def contents(self, ids: Sequence[int]) -> dict[int, str]:
        """The text of each chunk that still exists, by its id."""
        chunks = self.chunks(ids)
        found = {number: self._texts.get(chunk) for number, chunk in chunks.items()}
        lacking = [number for number, text in found.items() if text is None]
        for number, text in self._read_texts(lacking):
            found[number] = text
            self._texts.put(chunks[number], text)
        return {number: text for number, text in found.items() if text is not None}

    def _look(self) -> None:
        """Forget what may have changed, or is too much; this begins the moment that is read."""
        (version,) = self.database.execute("PRAGMA data_version").fetchone()
        memories = (self._chunks, self._by_key, self._files)
        if version != self._version or any(len(memory) > MOST_REMEMBERED for memory in memories):
            self._version = version
            for memory in memories:
                memory.clear()

    def _read_chunks(self, ids: Sequence[int]) -> Iterator[tuple[int, IndexedChunk]]:
        for row in self._rows(f"{_CHUNKS} WHERE chunk.id IN", ids):
            yield row[0], indexed_chunk(row)

    def _read_keys(self, keys: Sequence[int]) -> Iterable[tuple[int, list[IndexedChunk]]]:
        by_key: dict[int, list[IndexedChunk]] = {}
        for row in self._rows(f"{_CHUNKS} WHERE chunk.key IN", keys):
            chunk = self._chunks.get(row[0]) or indexed_chunk(row)
            self._chunks[chunk.id] = chunk
            by_key.setdefault(chunk.key, []).append(chunk)
        return by_key.items()

    def _read_files(self, paths: Sequence[str]) -> Iterator[tuple[str, KnownFile]]:
        for path, *known in self._rows(f"{_FILES} WHERE path IN", list(map(path_bytes, paths))):
            yield path_text(path), KnownFile(*known)

    def _read_texts(self, ids: Sequence[int]) -> Iterator[tuple[int, str]]:
        file, text = -1, ""
        rows = self._rows(f"{_TEXTS} WHERE chunk.id IN", ids)
        for number, file_id, begin, end, stored in sorted(rows, key=lambda row: row[1]):
            if file_id != file:
                file, text = file_id, unpacked(stored)
            yield number, text[begin:end]

    def _rows(self, statement: str, values: Sequence[object]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(values), PARAMETERS):
            portion = values[start : start + PARAMETERS]
            marks = ",".join("?" * len(portion))
            yield from self.database.execute(f"{statement} ({marks})", portion).fetchall()


def _recall(
    memory: dict[Key, Value | None],
    wanted: Sequence[Key],
    read: Callable[[Sequence[Key]], Iterable[tuple[Key, Value]]],
) -> None:
    """Read what is not remembered; that something does not exist is remembered too."""
    lacking = [key for key in wanted if key not in memory]
    if lacking:
        memory.update(dict.fromkeys(lacking))
        memory.update(read(lacking))


def _known(memory: Mapping[Key, Value | None], wanted: Iterable[Key]) -> dict[Key, Value]:
    return {key: found for key in wanted if (found := memory[key]) is not None}
