"""Which chunks come into question: by their words, by their meaning, and because they are named."""

from collections.abc import Sequence
from typing import Protocol

from kernel.domain.cancel import CancelToken
from kernel.domain.indexed import IndexedChunk
from kernel.search.evidence_places import mentioned_chunks
from kernel.search.filters import Filters
from kernel.search.fusion import fuse
from kernel.search.query import Query
from kernel.search.ranking import Ranked, rank
from kernel.search.request import Request
from kernel.search.scanning import scan
from kernel.storage.index_store import IndexStore

# A filter turns most candidates away, so there have to be more.
FILTERED_FACTOR = 10
# Exact matches come in an order of their own; each is worth a little less than the one before.
EXACT_STEP = 0.999


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


def ranked_by_evidence(
    index: SearchableIndex, query: Query, filters: Filters, candidates: int
) -> list[Ranked]:
    """Every candidate in order, with what speaks for it."""
    catalogue, lexical = index.store.catalogue, index.store.lexical
    count = candidates if filters.is_empty else FILTERED_FACTOR * candidates
    words = lexical.search(query.terms, count)
    chunks: dict[int, IndexedChunk] = {}
    nearest: list[list[tuple[int, float]]] = []
    for arm in index.arms:
        found = arm.search(query.meant, count)
        by_key = catalogue.chunks_with_keys([key for key, _ in found])
        nearest.append(
            [(chunk.id, cosine) for key, cosine in found for chunk in by_key.get(key, ())]
        )
        chunks |= {chunk.id: chunk for same in by_key.values() for chunk in same}
    chunks |= catalogue.chunks([number for number, _ in words if number not in chunks])
    fused = fuse(words, nearest, query.kind)
    for chunk in mentioned_chunks(catalogue, query):
        chunks[chunk.id] = chunk
        fused.setdefault(chunk.id, (0.0, 0.0))
    if not filters.is_empty:
        chunks = {number: chunk for number, chunk in chunks.items() if filters.accepts(chunk)}
    return rank(query, fused, chunks)


def ranked_by_text(index: SearchableIndex, request: Request, limit: int) -> list[Ranked]:
    """Chunks in which what was asked for stands letter by letter."""
    found = scan(index.store.catalogue, index.store.lexical, request, limit, CancelToken())
    return [
        Ranked(match.chunk, EXACT_STEP**place, {"exact": EXACT_STEP**place})
        for place, match in enumerate(found.matches)
    ]
