"""All repositories of a base as one index, for one search: none of them has to be here.

Paths begin with the name of their repository. Words are weighed by LanceDB's own BM25, because
nothing else has to be compared with them.
"""

import os
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from codekernel.base.base_reader import BaseUnavailable, Deadline, OpenedBase
from codekernel.domain.index import FileRecord, IndexedChunk
from codekernel.inference.model_pool import Embedder
from codekernel.search.filters import Filters
from codekernel.search.pipeline import Searcher
from codekernel.search.retrieval import MIN_PARALLEL_DOCUMENTS
from codekernel.storage.base.base_rows import PATH, REPOSITORY, parse_chunk
from codekernel.storage.base.base_table import DISTANCE, ROW_ID, SCORE, Row
from codekernel.storage.lexical_index import stem_terms
from codekernel.storage.term_counts import FieldTerm, TermCounts

# A command asks once, of a table that nothing of is in memory yet.
WHOLE_SEARCH_TIMEOUT_SECONDS = 10.0

# Each is read from the store.
MAX_WHOLE_HITS = 300


class WholeBase:
    """One search; without ``embedder`` by words alone."""

    def __init__(self, base: OpenedBase, embedder: Embedder | None, filters: Filters) -> None:
        self._base, self._embedder = base, embedder
        labels = [each.label for each in base.manifest.repositories]
        accepted = [label for label in labels if filters.accepts_repo(label)]
        self._repos = accepted if len(accepted) < len(labels) else []
        self._deadline = Deadline(WHOLE_SEARCH_TIMEOUT_SECONDS)
        self._chunks: dict[int, IndexedChunk] = {}
        self.gap = ""

    @property
    def store(self) -> "WholeBase":
        """Return what has the catalog and the lexical index."""
        return self

    @property
    def folder(self) -> Path:
        """Return where nothing is: no ranking was learned for a base."""
        return Path(os.devnull)

    @property
    def catalog(self) -> "WholeBaseCatalog":
        """Return the chunks that were found."""
        return WholeBaseCatalog(self._chunks, self._read_texts)

    @property
    def lexical(self) -> "WholeBase":
        """Return the lexical index."""
        return self

    @property
    def vector_indexes(self) -> "Sequence[WholeBaseVectors]":
        """Return the vectors, if there is a model for them."""
        return [WholeBaseVectors(self._embedder, self.find_nearest)] if self._embedder else []

    def describe_gap(self) -> str:
        """Return what could not be searched, as a sentence."""
        return self.gap

    @property
    def document_count(self) -> int:
        """Return so many that words and vectors are searched at once: both wait for the store."""
        return max(self._base.manifest.chunks, MIN_PARALLEL_DOCUMENTS)

    def search(
        self, terms: Sequence[str], k: int, weights: Mapping[FieldTerm, float] | None = None
    ) -> list[tuple[int, float]]:
        """Return the best chunks with any of the terms, best first, as LanceDB weighs them."""
        del weights
        stems, table = stem_terms(terms), self._base.table
        count = min(k, MAX_WHOLE_HITS)
        rows = self._ask(lambda: table.search_terms(stems, self._repos, count)) if stems else []
        return [(self._note(row).id, row[SCORE]) for row in rows]

    def search_all(self, _terms: Sequence[str], _k: int) -> list[int]:
        """Return none: texts are not scanned where they are not."""
        return []

    def count_terms(self, _terms: Sequence[str]) -> TermCounts:
        """Return that each term may be in no chunk: nobody compares bases with each other."""
        return TermCounts(self._base.manifest.chunks, {})

    def find_nearest(self, query: str, k: int) -> list[tuple[int, float]]:
        """Return the keys of the nearest texts and their cosines, best first."""
        if self._embedder is None:
            return []
        vector, table = self._embedder.embed_query(query), self._base.table
        count = min(k, MAX_WHOLE_HITS)
        rows = self._ask(lambda: table.search_vectors(vector, self._repos, count))
        return [(self._note(row).text_hash, 1 - row[DISTANCE]) for row in rows]

    def _ask(self, request: Callable[[], list[Row]]) -> list[Row]:
        try:
            return self._base.requests.run(request, self._deadline)
        except BaseUnavailable as error:
            self.gap = str(error)
            return []

    def _note(self, row: Row) -> IndexedChunk:
        number = -1 - row[ROW_ID]
        if number not in self._chunks:
            chunk = parse_chunk(row, number, self._base.manifest.max_chunk_chars)
            self._chunks[number] = replace(chunk, path=f"{row[REPOSITORY]}/{row[PATH]}")
        return self._chunks[number]

    def _read_texts(self, ids: Sequence[int]) -> Mapping[int, str]:
        rows, table = [-1 - number for number in ids], self._base.table
        found: Mapping[int, str] = {}
        with suppress(BaseUnavailable):
            found = self._base.requests.run(lambda: table.read_texts(rows), self._deadline)
        return {-1 - row: text for row, text in found.items()}


@dataclass(frozen=True, slots=True)
class WholeBaseSearcher(Searcher):
    """Searches a base, whose files are not here: none can have changed or gone."""

    def check_files(self, files: Mapping[str, FileRecord]) -> dict[str, bool]:
        """Return that each file is as it was."""
        return dict.fromkeys(files, True)

    def raise_for_no_hits(self, filters: Filters) -> None:
        """Let nothing be the answer."""


class WholeBaseVectors:
    """The vectors of a base."""

    name = "base"

    def __init__(
        self, embedder: Embedder, search: Callable[[str, int], list[tuple[int, float]]]
    ) -> None:
        self.is_contextual = embedder.folder.is_contextual
        self.search = search

    def is_missing(self, _text_hash: int, _max_chunk_chars: int) -> bool:
        """Return that no text is still to be embedded."""
        return False


class WholeBaseCatalog:
    """What was found of a base; of files nothing else is known here."""

    def __init__(
        self,
        chunks: Mapping[int, IndexedChunk],
        read_texts: Callable[[Sequence[int]], Mapping[int, str]],
    ) -> None:
        self._chunks, self._read_texts = chunks, read_texts

    def list_files(self) -> dict[str, FileRecord]:
        """Return the files of what was found."""
        return self.find_files([chunk.path for chunk in self._chunks.values()])

    def find_files(self, paths: Sequence[str]) -> dict[str, FileRecord]:
        """Return each path as a file: it was one when the base was built."""
        return {path: FileRecord(0, 0, 0, b"") for path in paths}

    def find_files_named(self, _names: Collection[str]) -> dict[str, int]:
        """Return none."""
        return {}

    def find_files_of_chunks(self, _ids: Sequence[int]) -> set[int]:
        """Return none."""
        return set()

    def find_chunks(self, ids: Sequence[int]) -> dict[int, IndexedChunk]:
        """Return those chunks that were found."""
        return {number: self._chunks[number] for number in ids if number in self._chunks}

    def find_chunks_by_key(self, keys: Sequence[int]) -> dict[int, list[IndexedChunk]]:
        """Return for each key the chunks that were found with that text."""
        found: dict[int, list[IndexedChunk]] = {key: [] for key in keys}
        for chunk in self._chunks.values():
            if chunk.text_hash in found:
                found[chunk.text_hash].append(chunk)
        return found

    def list_chunks(self, _file: int, _max_chunk_chars: int | None = None) -> list[IndexedChunk]:
        """Return none."""
        return []

    def list_symbol_names(self, _limit: int) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Return none."""
        return []

    def iterate_documents(
        self, _is_wanted: Callable[[str, str], bool], _file_ids: Collection[int] | None = None
    ) -> Generator[tuple[int, str, str], None, None]:
        """Yield none."""
        yield from ()

    def read_document(self, _file_id: int) -> str:
        """Return nothing."""
        return ""

    def read_chunk_texts(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the texts of chunks."""
        return dict(self._read_texts(ids)) if ids else {}
