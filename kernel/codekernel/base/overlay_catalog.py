"""Files and chunks of the base and of the local index as one catalog, for one search.

Files that are as the base has them are read and chunked here, which needs no store.
"""

from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Protocol

from codekernel.base.base_reader import BaseRepositoryReader, BaseUnavailable, Deadline
from codekernel.base.overlay_state import OverlayState
from codekernel.chunking.chunker import chunk_with_hashes
from codekernel.domain.index import (
    Chunk,
    FileRecord,
    FoundFile,
    IndexedChunk,
    SourceText,
    detect_language,
)
from codekernel.files.reading import read_source_file
from codekernel.storage.catalog.catalog import Catalog, split_file_names

# Below the numbers of rows.
_FIRST_LOCAL_NUMBER = -(2**62)


class OverlaySource(Protocol):
    """What a catalog needs of its search."""

    @property
    def state(self) -> OverlayState:
        """Return which files are as the base has them."""

    @property
    def reader(self) -> BaseRepositoryReader:
        """Return the base."""

    @property
    def deadline(self) -> Deadline:
        """Return until when the base is waited for."""


class OverlayCatalog:
    """One catalog of both."""

    def __init__(self, root: Path, local: Catalog, source: OverlaySource) -> None:
        self._root, self._local, self._source = root, local, source
        self._chunks: dict[int, IndexedChunk] = {}
        self._ids: dict[tuple[str, int, int], int] = {}
        self._texts: dict[str, str | None] = {}
        self._numbers = count(_FIRST_LOCAL_NUMBER)

    def note_hit(self, chunk: IndexedChunk) -> None:
        """Remember a chunk that the base has found."""
        self._chunks[chunk.id] = chunk
        self._ids[chunk.path, chunk.begin, chunk.end] = chunk.id

    def has_text(self, text_hash: int) -> bool:
        """Return whether the base has found a chunk with this text."""
        return any(chunk.text_hash == text_hash for chunk in self._chunks.values())

    def list_files(self) -> dict[str, FileRecord]:
        """Return every file by its path."""
        return self._local.list_files() | self._find_visible(list(self._source.state.visible))

    def find_files(self, paths: Sequence[str]) -> dict[str, FileRecord]:
        """Return those of the paths that are files."""
        return self._local.find_files(paths) | self._find_visible(paths)

    def find_files_named(self, names: Collection[str]) -> dict[str, int]:
        """Return the ids of the files with one of these names, with or without extension."""
        wanted, files = {name.lower() for name in names}, self._source.reader.files
        return self._local.find_files_named(names) | {
            path: files[path].file_id
            for path in self._source.state.visible
            if not wanted.isdisjoint(split_file_names(path))
        }

    def find_files_of_chunks(self, ids: Sequence[int]) -> set[int]:
        """Return the ids of the files of these chunks."""
        files = self._source.reader.files
        found = {files[self._chunks[it].path].file_id for it in ids if it in self._chunks}
        return found | self._local.find_files_of_chunks([it for it in ids if it >= 0])

    def list_symbol_names(self, _limit: int) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Return none: which names there are is not known here."""
        return []

    def iterate_documents(
        self, is_wanted: Callable[[str, str], bool], file_ids: Collection[int] | None = None
    ) -> Generator[tuple[int, str, str], None, None]:
        """Yield id, path and text of each file whose path and language are wanted."""
        with closing(self._local.iterate_documents(is_wanted, file_ids)) as documents:
            yield from documents
        files = self._source.reader.files
        for path in sorted(self._source.state.visible):
            file_id = files[path].file_id
            if (file_ids is None or file_id in file_ids) and is_wanted(path, detect_language(path)):
                text = self._read_file(path)
                if text is not None:
                    yield file_id, path, text

    def read_document(self, file_id: int) -> str:
        """Return the text of a file; empty if it is gone."""
        if file_id >= 0:
            return self._local.read_document(file_id)
        return self._read_file(self._find_path(file_id)) or ""

    def list_chunks(self, file_id: int, max_chunk_chars: int | None = None) -> list[IndexedChunk]:
        """Return the chunks of one file in order."""
        if file_id >= 0:
            return self._local.list_chunks(file_id, max_chunk_chars)
        path = self._find_path(file_id)
        text, size = self._read_file(path), self._source.reader.base.manifest.max_chunk_chars
        if text is None or max_chunk_chars not in {None, size}:
            return []
        language = detect_language(path)
        found = chunk_with_hashes(text, language, [size])[size]
        return [self._number(chunk, path, language, size, key) for chunk, key in found]

    def find_chunks(self, ids: Sequence[int]) -> dict[int, IndexedChunk]:
        """Return the chunks with these ids that still exist."""
        found = {number: self._chunks[number] for number in ids if number in self._chunks}
        return found | self._local.find_chunks([number for number in ids if number >= 0])

    def find_chunks_by_key(self, keys: Sequence[int]) -> dict[int, list[IndexedChunk]]:
        """Return for each key the chunks with that text."""
        found = {key: list(it) for key, it in self._local.find_chunks_by_key(keys).items()}
        wanted = set(keys)
        for chunk in self._chunks.values():
            if chunk.text_hash in wanted:
                found.setdefault(chunk.text_hash, []).append(chunk)
        return found

    def read_chunk_texts(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the text of each chunk that still exists, by its id."""
        texts = self._local.read_chunk_texts([number for number in ids if number >= 0])
        changed: list[int] = []
        for chunk in (self._chunks[number] for number in ids if number in self._chunks):
            text = self._read_file(chunk.path)
            if text is None:
                changed.append(chunk.id)
            else:
                texts[chunk.id] = text[chunk.begin : chunk.end]
        rows = [number for number in changed if number > _FIRST_LOCAL_NUMBER // 2]
        try:
            texts |= self._source.reader.read_texts(rows, self._source.deadline) if rows else {}
        except BaseUnavailable:
            return texts  # of files that have changed a moment ago
        return texts

    def _find_visible(self, paths: Sequence[str]) -> dict[str, FileRecord]:
        state, files = self._source.state, self._source.reader.files
        return {
            path: FileRecord(
                files[path].file_id,
                state.visible[path].size,
                state.visible[path].mtime_ns,
                files[path].digest,
            )
            for path in paths
            if path in state.visible
        }

    def _find_path(self, file_id: int) -> str:
        path: str = self._source.reader.paths[-1 - file_id]
        return path

    def _read_file(self, path: str) -> str | None:
        """Return the text of a file that is as the base has it; None if it has just changed."""
        if path not in self._texts:
            record = self._source.state.visible[path]
            source = read_source_file(self._root, FoundFile(path, record.size, record.mtime_ns))
            is_same = isinstance(source, SourceText) and source.digest.hex() == record.detail
            self._texts[path] = source.text if is_same and isinstance(source, SourceText) else None
        return self._texts[path]

    def _number(self, chunk: Chunk, path: str, language: str, size: int, key: int) -> IndexedChunk:
        """Return a chunk under the number that the base has given it, or under one of its own."""
        place = (path, chunk.begin, chunk.end)
        if place not in self._ids:
            self._ids[place] = next(self._numbers)
        number = self._ids[place]
        if number not in self._chunks:
            self._chunks[number] = IndexedChunk(
                *(chunk.begin_line, chunk.end_line, chunk.begin, chunk.end, chunk.kind),
                *(chunk.symbols, chunk.signature, chunk.defined_names),
                id=number,
                path=path,
                language=language,
                max_chunk_chars=size,
                text_hash=key,
            )
        return self._chunks[number]
