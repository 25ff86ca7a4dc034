"""What of a repository's base is hidden by the files as they are, and how terms weigh in both.

A path of the base counts while the file has the digest that the base knows; everything else is in
the local index, or gone. Computed anew after each commit of the local index.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from codekernel.base.base_reader import BaseRepositoryReader, BaseUnavailable, Deadline
from codekernel.base.term_statistics import FIELD_COUNT, TermStatistics, count_terms
from codekernel.domain.index import IndexedChunk, SkippedFileRecord, SkipReason
from codekernel.storage.base.base_rows import join_terms
from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.index_store import IndexStore

# The terms of more local or hidden chunks are not counted: those of the base alone weigh them then,
# as in an index whose deleted chunks are still there.
MAX_COUNTED_CHUNKS = 5_000


ChunkKey: TypeAlias = tuple[str, int, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class OverlayState:
    """One state of the local index over one build of the base."""

    # Files that are as the base has them.
    visible: Mapping[str, SkippedFileRecord]
    hidden_chunks: int = 0
    # Of local chunks, by id.
    terms: Mapping[int, str] = field(default_factory=dict)
    statistics: TermStatistics = field(default_factory=TermStatistics)


class OverlayTracker:
    """Computes the state of one repository; used by any thread."""

    def __init__(self, reader: BaseRepositoryReader) -> None:
        self.reader = reader
        self._lock = threading.Lock()
        self._known_for: object = None
        self._state: OverlayState | None = None
        self._hidden_terms: dict[str, list[str]] = {}
        self._local_terms: dict[ChunkKey, str] = {}

    def read(self, store: IndexStore, deadline: Deadline) -> OverlayState:
        """Return the state of the local index as it is now."""
        signature = store.catalog.path, store.catalog.read_signature()
        with self._lock:
            if self._state is None or signature != self._known_for:
                self._state, is_whole = self._compute(store.catalog, deadline)
                self._known_for = signature if is_whole else None
            return self._state

    def _compute(self, catalog: Catalog, deadline: Deadline) -> tuple[OverlayState, bool]:
        """Return the state, and whether the base could say all that it takes."""
        files = self.reader.files
        visible = {
            path: record
            for path, record in catalog.list_skipped(SkipReason.IN_BASE).items()
            if path in files and record.detail == files[path].digest.hex()
        }
        hidden = [path for path in files if path not in visible]
        hidden_chunks = sum(files[path].chunks for path in hidden)
        terms = self._collect_terms(catalog)
        is_whole = True
        gone: list[TermStatistics] = []
        if hidden_chunks <= MAX_COUNTED_CHUNKS:
            try:
                gone = [count_terms(self._read_hidden(hidden, deadline))]
            except BaseUnavailable:
                is_whole = False
        statistics = _combine(self.reader.statistics, count_terms(terms.values()), gone)
        return OverlayState(visible, hidden_chunks, terms, statistics), is_whole

    def _collect_terms(self, catalog: Catalog) -> dict[int, str]:
        """Return the terms of the local chunks, by id; of none if there are too many."""
        ids = catalog.list_chunk_ids(MAX_COUNTED_CHUNKS + 1)
        if len(ids) > MAX_COUNTED_CHUNKS:
            return {}
        chunks, known = catalog.find_chunks(ids), self._local_terms
        keys = {number: _make_key(chunk) for number, chunk in chunks.items()}
        found = {number: known[key] for number, key in keys.items() if key in known}
        found |= make_terms(catalog, {it: chunks[it] for it in keys if it not in found})
        self._local_terms = {keys[number]: terms for number, terms in found.items()}
        return found

    def _read_hidden(self, paths: Sequence[str], deadline: Deadline) -> Iterable[str]:
        """Return the terms of the chunks of files that are not as the base has them."""
        lacking = [path for path in paths if path not in self._hidden_terms]
        found: dict[str, list[str]] = {path: [] for path in lacking}
        for hit in self.reader.list_chunks(lacking, deadline) if lacking else ():
            found[hit.chunk.path].append(hit.terms)
        self._hidden_terms |= found
        return [terms for path in paths for terms in self._hidden_terms[path]]


def _make_key(chunk: IndexedChunk) -> ChunkKey:
    # Not its id, which another chunk may have after it.
    return chunk.path, chunk.text_hash, chunk.defined_names


def make_terms(catalog: Catalog, chunks: Mapping[int, IndexedChunk]) -> dict[int, str]:
    """Return the terms of local chunks as a base has them."""
    texts = catalog.read_chunk_texts(list(chunks))
    return {number: _join_chunk_terms(chunks[number], text) for number, text in texts.items()}


def _join_chunk_terms(chunk: IndexedChunk, text: str) -> str:
    symbols = " ".join(dict.fromkeys((*chunk.symbols, *chunk.defined_names)))
    return join_terms(text, symbols, chunk.path)


def _combine(
    base: TermStatistics, local: TermStatistics, hidden: Sequence[TermStatistics]
) -> TermStatistics:
    """Return the statistics of the base and of local chunks, without those that are hidden."""
    gone = hidden[0] if hidden else TermStatistics()
    tokens = tuple(
        base.tokens[number] + local.tokens[number] - gone.tokens[number]
        for number in range(FIELD_COUNT)
    )
    documents = base.documents + local.documents - gone.documents
    return TermStatistics(documents, tokens, _CombinedCounts(base, local, gone))


class _CombinedCounts(Mapping[str, tuple[int, ...]]):
    """Counts that are added up when they are asked for."""

    def __init__(self, base: TermStatistics, local: TermStatistics, gone: TermStatistics) -> None:
        self._base, self._local, self._gone = base, local, gone

    def __getitem__(self, stem: str) -> tuple[int, ...]:
        found = (it.get_counts(stem) for it in (self._base, self._local, self._gone))
        return tuple(base + local - gone for base, local, gone in zip(*found, strict=True))

    def __iter__(self) -> Iterator[str]:
        return iter({**self._base.counts, **self._local.counts})

    def __len__(self) -> int:
        return len({*self._base.counts, *self._local.counts})
