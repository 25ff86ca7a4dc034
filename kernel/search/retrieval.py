"""Which chunks come into question: by their words, by their meaning, and because they are named."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from kernel.domain.cancel import CancelToken
from kernel.domain.indexed import IndexedChunk
from kernel.search.evidence_places import mentioned_chunks
from kernel.search.filters import Filters
from kernel.search.fusion import fuse
from kernel.search.query import Query, understood
from kernel.search.ranking import Ranked, rank
from kernel.search.request import Request
from kernel.search.scanning import MOST_MATCHES, scan
from kernel.search.second_look import second_look
from kernel.search.stems import SILENT
from kernel.storage.index_store import IndexStore

# A filter turns most candidates away, so there have to be more.
FILTERED_FACTOR = 10
# If no word of a query stands anywhere in the repository, the nearest text must be at least so
# near, or nothing matches. On the 32 repositories with the static model 89 % of made-up words and
# 99 % of words of other trades have nothing nearer; of the benchmark's names 1 %, of its questions
# 4 %, but those all share words with the code, so that none is turned away. A sentence, which has
# words like "the" in it, is somebody's question and is answered: in a small folder it may find what
# it means with a cosine of .1.
LEAST_COSINE = 0.4
# Exact matches come in an order of their own; each is worth a little less than the one before.
EXACT_STEP = 0.999


class Vectors(Protocol):
    """The vectors of one embedding config."""

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """Keys of the nearest texts and their similarity, best first."""

    def lacks(self, key: int, input_length: int) -> bool:
        """Whether a text of that cut is still to be embedded; other cuts are not this config's."""

    def likeness(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """The cosines of a query and short texts; nothing if the model is not quick enough."""


class SearchableIndex(Protocol):
    """What is searched."""

    @property
    def store(self) -> IndexStore:
        """Catalogue and words."""

    @property
    def arms(self) -> Sequence[Vectors]:
        """The embedding configs that are ready."""


def ranked_by_evidence(
    index: SearchableIndex,
    query: Query,
    filters: Filters,
    candidates: int,
    *,
    accuracy: bool = False,
) -> list[Ranked]:
    """Every candidate in order, with what speaks for it; ``accuracy`` takes a second look."""
    catalogue = index.store.catalogue
    count = candidates if filters.is_empty else FILTERED_FACTOR * candidates
    found = _found(index, query, count)
    chunks = found.chunks
    fused = fuse(found.words, found.nearest, query.kind)
    named = mentioned_chunks(catalogue, query)
    if not named and _matches_nothing(query, found):
        return []
    for chunk in named:
        chunks[chunk.id] = chunk
        fused.setdefault(chunk.id, (0.0, 0.0))
    if not filters.is_empty:
        chunks = {number: chunk for number, chunk in chunks.items() if filters.accepts(chunk)}
    ranked = rank(query, fused, chunks)
    if accuracy:
        ranked = second_look(query, ranked, partial(_likeness, index))
    for each in ranked:
        each.is_embedded = each.chunk.key in found.embedded
    return ranked


def ranked_by_text(
    index: SearchableIndex, request: Request, limit: int, cancel: CancelToken
) -> tuple[list[Ranked], bool]:
    """Chunks in which what was asked for stands letter by letter, and whether those are all.

    Definitions come first and tests last; plain words beside what must stand there have the first
    say in the order, as far as they say anything. Raises Cancelled.
    """
    words = request.words.strip()
    most = MOST_MATCHES if words else limit
    scanned = scan(index.store.catalogue, index.store.lexical, request, most, cancel)
    ranked = [
        Ranked(match.chunk, EXACT_STEP**place, {"exact": EXACT_STEP**place})
        for place, match in enumerate(scanned.matches)
    ]
    if words and ranked:
        _weigh_words(index, understood(words), ranked)
    return ranked[:limit], scanned.is_complete and len(ranked) <= limit


def _weigh_words(index: SearchableIndex, query: Query, ranked: list[Ranked]) -> None:
    """Put chunks in the order in which a query would find them among each other."""
    found = _found(index, query, FILTERED_FACTOR * len(ranked))
    chunks = {each.chunk.id: each.chunk for each in ranked}
    fused = dict.fromkeys(chunks, (0.0, 0.0)) | {
        number: parts
        for number, parts in fuse(found.words, found.nearest, query.kind).items()
        if number in chunks
    }
    by_words = {each.chunk.id: each for each in rank(query, fused, chunks)}
    for each in ranked:
        other = by_words[each.chunk.id]
        each.score += other.score
        each.signals |= other.signals
    ranked.sort(key=lambda each: -each.score)


@dataclass(frozen=True, slots=True)
class _Found:
    words: list[tuple[int, float]]
    # For each model the nearest chunks and their cosines.
    nearest: list[list[tuple[int, float]]]
    chunks: dict[int, IndexedChunk]
    # Keys that every model was seen to have.
    embedded: frozenset[int]


def _found(index: SearchableIndex, query: Query, count: int) -> _Found:
    """The best chunks by their words, and by their meaning for each model."""
    catalogue = index.store.catalogue
    words = index.store.lexical.search(query.terms, count)
    chunks: dict[int, IndexedChunk] = {}
    nearest: list[list[tuple[int, float]]] = []
    embedded: list[frozenset[int]] = []
    for arm in index.arms:
        found = arm.search(query.meant, count)
        keys = [key for key, _ in found]
        by_key = catalogue.chunks_with_keys(keys)
        nearest.append(
            [(chunk.id, cosine) for key, cosine in found for chunk in by_key.get(key, ())]
        )
        chunks |= {chunk.id: chunk for same in by_key.values() for chunk in same}
        embedded.append(frozenset(keys))
    chunks |= catalogue.chunks([number for number, _ in words if number not in chunks])
    return _Found(words, nearest, chunks, frozenset.intersection(*embedded or [frozenset()]))


def _likeness(index: SearchableIndex, query: str, texts: Sequence[str]) -> Sequence[float]:
    """What the first model says that is quick enough."""
    return next(filter(len, (arm.likeness(query, texts) for arm in index.arms)), ())


def _matches_nothing(query: Query, found: _Found) -> bool:
    if found.words or not SILENT.isdisjoint(query.terms):
        return False
    return all(cosine < LEAST_COSINE for nearest in found.nearest for _, cosine in nearest[:1])
