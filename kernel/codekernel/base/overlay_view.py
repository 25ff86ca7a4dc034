"""A repository as its base and the local index have it together, for one search.

The pipeline sees one catalog, one lexical index and one set of vectors. Chunks of the base have
negative numbers. What the base cannot say before the deadline is missing, and ``gap`` says so.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

from codekernel.base.base_reader import (
    SEARCH_TIMEOUT_SECONDS,
    BaseHit,
    BaseUnavailable,
    Deadline,
)
from codekernel.base.bm25 import Bm25Scorer
from codekernel.base.overlay_catalog import OverlayCatalog
from codekernel.base.overlay_state import OverlayTracker, make_terms
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.indexing.vector_index import VectorIndex
from codekernel.search.retrieval import MIN_PARALLEL_DOCUMENTS, SemanticIndex
from codekernel.storage.lexical_documents import FIELD_WEIGHTS
from codekernel.storage.lexical_index import stem_terms
from codekernel.storage.term_counts import FieldTerm, TermCounts

# As many as a search without filters asks for; each is read from the store.
MAX_BASE_HITS = 1_000

# Chunks that are hidden are found, too; more are not asked for on their account.
MAX_EXTRA_HITS = 1_000

# Vectors of texts that were edited away are kept for a while; they must not displace others.
LOCAL_FACTOR = 4

Result = TypeVar("Result")


class OverlayView:
    """One search of one repository; used by its threads."""

    def __init__(
        self,
        root: Path,
        index: RepositoryIndex,
        tracker: OverlayTracker,
        timeout_seconds: float = SEARCH_TIMEOUT_SECONDS,
    ) -> None:
        self._root, self._index, self._tracker = root, index, tracker
        self.reader = tracker.reader
        self.gap = ""
        self.deadline = Deadline(timeout_seconds)
        self._attach()

    def _attach(self) -> None:
        self.local = self._index.store
        self.state = self._tracker.read(self.local, self.deadline)
        self.catalog = OverlayCatalog(self._root, self.local.catalog, self)
        self.lexical = OverlayLexical(self)

    @property
    def store(self) -> "OverlayView":
        """Return what has the catalog and the lexical index; of another store after a repair."""
        if self._index.store is not self.local:
            self._attach()
        return self

    def recover(self, error: BaseException, _store: object) -> bool:
        """Handle what a search met in the local index; returns whether it can be asked again."""
        return self._index.recover_from(error, self.local)

    @property
    def folder(self) -> Path:
        """Return where the local index is."""
        return self.local.folder

    @property
    def vector_indexes(self) -> list[SemanticIndex]:
        """Return the vectors that are ready, of both; of another model they are local alone."""
        local, manifest = self._index.vector_indexes, self.reader.base.manifest
        return [
            OverlayVectors(each, self)
            if each.embedder.fingerprint == manifest.model
            and each.config.max_chunk_chars == manifest.max_chunk_chars
            else each
            for each in local
        ]

    def describe_gap(self) -> str:
        """Return what was not searched, as a sentence."""
        if self.gap:
            return f"{self.gap}. Only what you have changed was searched"
        return ""

    def ask_base(self, request: Callable[[Deadline], Sequence[BaseHit]]) -> list[BaseHit]:
        """Return what is found in files that are as the base has them; nothing if it is away."""
        hits = self.try_base(request) or ()
        found = [it for it in hits if it.chunk.path in self.state.visible]
        for hit in found:
            self.catalog.note_hit(hit.chunk)
        return found

    def try_base(self, request: Callable[[Deadline], Result]) -> Result | None:
        """Return what the base says, or None and a gap."""
        try:
            return request(self.deadline)
        except BaseUnavailable as error:
            self.gap = str(error)
            return None

    @property
    def extra_hits(self) -> int:
        """Return how many more hits may be hidden."""
        return min(self.state.hidden_chunks, MAX_EXTRA_HITS)


@dataclass(frozen=True, slots=True)
class OverlayVectors:
    """The vectors of one model in both."""

    vectors: VectorIndex
    view: OverlayView

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OverlayVectors) and other.vectors is self.vectors

    def __hash__(self) -> int:
        return hash(id(self.vectors))

    @property
    def name(self) -> str:
        """Return the name of the config."""
        return self.vectors.name

    @property
    def is_contextual(self) -> bool:
        """Return whether a contextual model made them."""
        return self.vectors.is_contextual

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """Return the keys of the nearest texts and their cosines, best first."""
        cosines: dict[int, float] = {}
        vector = self.vectors.embedder.embed_query(query)
        if vector is not None:
            count, reader = min(k, MAX_BASE_HITS) + self.view.extra_hits, self.view.reader
            for hit in self.view.ask_base(lambda it: reader.search_vectors(vector, count, it)):
                cosines[hit.chunk.text_hash] = hit.cosine
        nearest = self.vectors.search(query, LOCAL_FACTOR * k)
        in_use = self.view.local.catalog.find_chunks_by_key([key for key, _ in nearest])
        cosines |= {key: cosine for key, cosine in nearest if key in in_use}
        return nlargest(k, cosines.items(), key=itemgetter(1))

    def is_missing(self, text_hash: int, max_chunk_chars: int) -> bool:
        """Return whether a text is still to be embedded; no text of the base is."""
        if self.view.catalog.has_text(text_hash):
            return False
        return self.vectors.is_missing(text_hash, max_chunk_chars)


class OverlayLexical:
    """The lexical index of both, with terms weighed as in one."""

    def __init__(self, view: OverlayView) -> None:
        self._view = view
        self._local = view.local.lexical

    @property
    def document_count(self) -> int:
        """Return so many that words and vectors are searched at once: both wait for the store."""
        return max(self._view.state.statistics.documents, MIN_PARALLEL_DOCUMENTS)

    def search(
        self, terms: Sequence[str], k: int, weights: Mapping[FieldTerm, float] | None = None
    ) -> list[tuple[int, float]]:
        """Return the best chunks with any of the terms, and their BM25 scores, best first."""
        view, stems = self._view, stem_terms(terms)
        if not stems:
            return []
        local = [number for number, _ in self._local.search(terms, k, weights)]
        count = min(k, MAX_BASE_HITS) + view.extra_hits
        hits = view.ask_base(lambda it: view.reader.search_terms(stems, count, it))
        scorer = Bm25Scorer(stems, view.state.statistics, weights)
        found = {number: view.state.terms.get(number, "") for number in local}
        if lacking := [number for number, terms in found.items() if not terms]:
            found |= make_terms(view.local.catalog, view.local.catalog.find_chunks(lacking))
        found |= {hit.chunk.id: hit.terms for hit in hits}
        scores = ((number, scorer.score(each)) for number, each in found.items())
        return nlargest(k, scores, key=itemgetter(1))

    def search_all(self, terms: Sequence[str], k: int) -> list[int]:
        """Return chunks whose text may have all terms; ``k`` numbers if the base cannot say."""
        view, stems = self._view, stem_terms(terms)
        count, gap = MAX_EXTRA_HITS + view.extra_hits, view.gap
        hits = view.ask_base(lambda it: view.reader.find_all_terms(stems, count, it))
        if view.gap != gap or len(hits) >= MAX_EXTRA_HITS:
            view.gap = gap  # the files are here, and all of them are scanned
            return list(range(k))
        return [*self._local.search_all(terms, k), *(hit.chunk.id for hit in hits)]

    def count_terms(self, terms: Sequence[str]) -> TermCounts:
        """Return in how many chunks each term stands, by field."""
        statistics = self._view.state.statistics
        chunks = {
            (field, stem): count
            for stem in stem_terms(terms)
            for field, count in zip(FIELD_WEIGHTS, statistics.get_counts(stem), strict=True)
        }
        return TermCounts(statistics.documents, chunks)
