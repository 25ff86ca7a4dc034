"""One repository's search: words and vectors asked together, fused, checked against the files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Protocol

from kernel.domain.chunk import embedded_text
from kernel.domain.courtesy import Courtesy
from kernel.domain.hit import CHANGED, FRESH, PENDING, Hit
from kernel.domain.indexed import IndexedChunk
from kernel.search.fusion import fuse
from kernel.search.query import Query, understood
from kernel.search.ranking import Ranked, rank
from kernel.search.reranking import CANDIDATES, blend
from kernel.search.selection import without_overlap
from kernel.storage.catalogue import Catalogue
from kernel.storage.index_store import IndexStore

# Candidates of each list for each hit that is wanted: enough that chunks good in both lists meet.
# Benchmark: 50 candidates for ten hits .880, 100 .888, 200 .883.
CANDIDATES_PER_HIT = 10
FEWEST_CANDIDATES = 100
# Nobody reads further, and a million hits would be a reply of gigabytes.
MOST_HITS = 1000


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


# Says how well each text answers a query, 0..1; nothing if no reranker is selected or usable.
Judge = Callable[[str, Sequence[str]], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Searcher:
    """Any number of threads may search at once; nobody waits for indexing."""

    root: Path
    index: SearchableIndex
    judge: Judge | None = None
    # By which indexing lets a search pass.
    courtesy: Courtesy = field(default_factory=Courtesy)

    def search(self, text: str, limit: int, *, accuracy: bool = False) -> list[Hit]:
        """The best chunks for a query; with no vectors yet, those that share its words.

        ``accuracy`` asks the selected reranker too, if there is one.
        """
        if not text.strip():
            return []
        query, limit = understood(text), min(limit, MOST_HITS)
        with self.courtesy.asking():
            ranked = self.ranked(query, max(FEWEST_CANDIDATES, CANDIDATES_PER_HIT * limit))
            if accuracy and self.judge:
                ranked = self._reranked(query, ranked, self.judge)
            return self._shown(ranked, limit)

    def ranked(self, query: Query, candidates: int) -> list[Ranked]:
        """Every candidate in order, with what speaks for it."""
        catalogue, lexical = self.index.store.catalogue, self.index.store.lexical
        if self.index.store.writer is None:  # another process writes the words
            lexical.reload()
        words = lexical.search(query.terms, candidates)
        chunks: dict[int, IndexedChunk] = {}
        nearest: list[list[tuple[int, float]]] = []
        for arm in self.index.arms:
            found = arm.search(query.text, candidates)
            by_key = catalogue.chunks_with_keys([key for key, _ in found])
            nearest.append(
                [(chunk.id, cosine) for key, cosine in found for chunk in by_key.get(key, ())]
            )
            chunks |= {chunk.id: chunk for same in by_key.values() for chunk in same}
        chunks |= catalogue.chunks([number for number, _ in words if number not in chunks])
        return rank(query, fuse(words, nearest, query.kind), chunks)

    def _reranked(self, query: Query, ranked: list[Ranked], judge: Judge) -> list[Ranked]:
        heard = ranked[:CANDIDATES]
        contents = self.index.store.catalogue.contents([each.chunk.id for each in heard])
        texts = [
            embedded_text(each.chunk.chunk.symbols, contents.get(each.chunk.id, ""))
            for each in heard
        ]
        opinions = judge(query.text, texts)
        return blend(ranked, opinions) if opinions else ranked

    def _shown(self, ranked: Sequence[Ranked], limit: int) -> list[Hit]:
        """The first chunks whose files are still there, with their texts."""
        catalogue = self.index.store.catalogue
        there = (
            (each, freshness)
            for each in without_overlap(ranked)
            if (freshness := self._freshness(catalogue, each.chunk))
        )
        chosen = list(islice(there, limit))
        contents = catalogue.contents([each.chunk.id for each, _ in chosen])
        return [
            Hit(
                chunk=each.chunk,
                content=contents[each.chunk.id],
                score=each.score / (each.score + 1),  # 0..1 in the same order
                freshness=freshness,
                signals=each.signals,
            )
            for each, freshness in chosen
            if each.chunk.id in contents
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
