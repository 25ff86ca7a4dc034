"""One repository's search: words and vectors asked together, fused, checked against the files."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol

from kernel.domain.hit import CHANGED, FRESH, PENDING, Hit
from kernel.domain.indexed import IndexedChunk
from kernel.domain.terms import query_terms
from kernel.search.fusion import fuse
from kernel.search.selection import without_overlap
from kernel.storage.catalogue import Catalogue
from kernel.storage.index_store import IndexStore

# Candidates of each list for each hit that is wanted: enough that chunks good in both lists meet.
CANDIDATES_PER_HIT = 10
FEWEST_CANDIDATES = 100


class Vectors(Protocol):
    """The vectors of one embedding config."""

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """Keys of the nearest texts and their similarity, best first."""

    def has(self, key: int) -> bool:
        """Whether a text has its vector."""


class SearchableIndex(Protocol):
    """What is searched."""

    @property
    def store(self) -> IndexStore:
        """Catalogue and words."""

    @property
    def arms(self) -> Sequence[Vectors]:
        """The embedding configs that are ready."""


@dataclass(frozen=True, slots=True)
class Searcher:
    """Any number of threads may search at once; nobody waits for indexing."""

    root: Path
    index: SearchableIndex

    def search(self, query: str, limit: int) -> list[Hit]:
        """The best chunks for a query; with no vectors yet, those that share its words."""
        if not query.strip():
            return []
        store, arms = self.index.store, self.index.arms
        if store.writer is None:  # another process writes the words
            store.lexical.reload()
        candidates = max(FEWEST_CANDIDATES, CANDIDATES_PER_HIT * limit)
        rankings = [[number for number, _ in store.lexical.search(query_terms(query), candidates)]]
        for arm in arms:
            nearest = [key for key, _ in arm.search(query, candidates)]
            chunks = store.catalogue.chunks_with_keys(nearest)
            rankings.append([chunk.id for key in nearest for chunk in chunks.get(key, ())])
        scores = dict(fuse(rankings))
        known = store.catalogue.chunks(list(scores))
        ranked = [known[number] for number in scores if number in known]
        return self._shown(ranked, scores, limit)

    def _shown(
        self, ranked: Sequence[IndexedChunk], scores: dict[int, float], limit: int
    ) -> list[Hit]:
        """The first chunks whose files are still there, with their texts."""
        catalogue = self.index.store.catalogue
        there = (
            (chunk, freshness)
            for chunk in without_overlap(ranked)
            if (freshness := self._freshness(catalogue, chunk))
        )
        chosen = list(islice(there, limit))
        contents = catalogue.contents([chunk.id for chunk, _ in chosen])
        return [
            Hit(chunk, contents[chunk.id], scores[chunk.id], freshness)
            for chunk, freshness in chosen
            if chunk.id in contents
        ]

    def _freshness(self, catalogue: Catalogue, chunk: IndexedChunk) -> str | None:
        """Whether the file is as it was when it was indexed; None if it is gone."""
        known = catalogue.file(chunk.path)
        try:
            found = (self.root / chunk.path).stat()
        except OSError:
            return None
        if known is None:
            return None
        same = found.st_size == known.size and known.mtime_ns in {found.st_mtime_ns, -1}
        if not same:
            return CHANGED
        pending = any(not arm.has(chunk.key) for arm in self.index.arms)
        return PENDING if pending else FRESH
