"""Several indexes as one, for one ranking of what all of them have.

The place of its index is in the id, the key and the path of a chunk, so that no two are the same,
and each is ranked as in its own repository. Lexical scores are comparable because every index
counts a term as rare as it is in all of them together; cosines are if one model made them.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import ParamSpec, Self, TypeVar

from codekernel.domain.index import IndexedChunk
from codekernel.search.filters import NO_FILTERS, Filters
from codekernel.search.retrieval import ScoredIds, SemanticIndex
from codekernel.search.searchable import SearchableCatalog, SearchableStore
from codekernel.storage.term_counts import FieldTerm, TermCounts, add_term_counts

# Ids and keys of one index, which are negative, too, have 64 bits.
_ID_BITS = 64
_HALF = 1 << (_ID_BITS - 1)

MAX_CACHED_PATHS = 16_384

# Two megabytes. A query has some two hundred, and copying one takes four microseconds.
MAX_ADOPTED_CHUNKS = 4_096

# An index is asked for so many times what each has of the best on average, and for no fewer. Of ten
# small repositories less than one is asked again, and lists are half as long.
SHARE_FACTOR = 4
MIN_SHARE = 100

# By their ids in all together: chunks of an index, and what became of them.
_adopted: dict[int, tuple[IndexedChunk, IndexedChunk]] = {}

_get_score = itemgetter(1)

_Answer = TypeVar("_Answer")
_Given = ParamSpec("_Given")


class MemberError(Exception):
    """What an index raised, as ``__cause__``, and its place among all."""

    def __init__(self, place: int) -> None:
        super().__init__(f"index {place} failed")
        self.place = place


def ask_member(
    place: int,
    ask: Callable[_Given, _Answer],
    *args: _Given.args,
    **kwargs: _Given.kwargs,
) -> _Answer:
    """Return what an index answers. Raises MemberError."""
    try:
        return ask(*args, **kwargs)
    except Exception as error:
        raise MemberError(place) from error


@dataclass(frozen=True, slots=True)
class IndexMember:
    """An index, the name of its repository, and what its chunks must be."""

    name: str
    # As they are when a search begins: damage and settings may replace them.
    store: SearchableStore
    vector_indexes: Sequence[SemanticIndex]
    filters: Filters = NO_FILTERS


class MemberPath(str):
    """A path that equals only the same path of the same index."""

    __slots__ = ("place",)
    place: int

    def __new__(cls, path: str, place: int) -> Self:
        """Return the path in the index at a place."""
        self = super().__new__(cls, path)
        self.place = place
        return self

    def __eq__(self, other: object) -> bool:
        """Return whether it is the same file."""
        return (
            isinstance(other, MemberPath) and self.place == other.place and str.__eq__(self, other)
        )

    __hash__ = str.__hash__


@lru_cache(MAX_CACHED_PATHS)
def _place_path(path: str, place: int) -> MemberPath:
    """Return the same object for the same file: what is identical is not compared."""
    return MemberPath(path, place)


def split_number(number: int) -> tuple[int, int]:
    """Return the place of an index, and the id or key of a chunk in it."""
    place = (number + _HALF) >> _ID_BITS
    return place, number - (place << _ID_BITS)


def restore_chunk(chunk: IndexedChunk) -> IndexedChunk:
    """Return a chunk as its own index has it."""
    return replace(
        chunk,
        id=split_number(chunk.id)[1],
        text_hash=split_number(chunk.text_hash)[1],
        path=str(chunk.path),
    )


@dataclass(frozen=True, slots=True)
class MergedIndex:
    """A CandidateIndex of the members; any of them that fails raises MemberError."""

    members: Sequence[IndexMember]

    @property
    def store(self) -> "MergedStore":
        """Return the chunks and the words."""
        return MergedStore(MergedCatalog(self.members), MergedLexical(self.members))

    @property
    def vector_indexes(self) -> list["MergedVectors"]:
        """Return the vectors of each model, of all indexes that have such."""
        by_name: dict[str, list[tuple[int, SemanticIndex]]] = {}
        for place, member in enumerate(self.members):
            for vectors in member.vector_indexes:
                by_name.setdefault(vectors.name, []).append((place, vectors))
        return [MergedVectors(name, parts) for name, parts in by_name.items()]

    def build_filters(self) -> Filters:
        """Return what accepts the chunks that the filters of their index accept."""
        filters = [each.filters for each in self.members]
        if all(each == NO_FILTERS for each in filters):
            return NO_FILTERS
        is_restricted = any(each.is_readable for each in filters)
        return _MergedFilters(
            is_readable=(lambda _path: True) if is_restricted else None, members=self.members
        )


@dataclass(frozen=True, slots=True)
class _MergedFilters(Filters):
    members: Sequence[IndexMember] = ()

    def accepts(self, chunk: IndexedChunk) -> bool:
        """Return whether a chunk may be a hit."""
        member = self.members[split_number(chunk.id)[0]]
        return member.filters.accepts(
            replace(chunk, path=chunk.path.removeprefix(f"{member.name}/"))
        )


@dataclass(frozen=True, slots=True)
class MergedStore:
    """Chunks and words of all indexes."""

    catalog: "MergedCatalog"
    lexical: "MergedLexical"


@dataclass(frozen=True, slots=True)
class MergedLexical:
    """The words of all indexes."""

    members: Sequence[IndexMember]

    @property
    def document_count(self) -> int:
        """Return the number of chunks."""
        return sum(each.store.lexical.document_count for each in self.members)

    def search(self, terms: Sequence[str], k: int) -> list[tuple[int, float]]:
        """Return the ``k`` best chunks with any of ``terms`` and their BM25 scores, best first."""
        lexical = [each.store.lexical for each in self.members]
        counts = [ask_member(place, each.count_terms, terms) for place, each in enumerate(lexical)]
        shared = add_term_counts(counts).compute_rarities()
        weights = [_weigh_terms(shared, own) for own in counts]
        return _find_best(
            range(len(lexical)),
            lambda place, count: lexical[place].search(terms, count, weights[place]),
            k,
        )


@dataclass(frozen=True, slots=True)
class MergedVectors:
    """The vectors that one model made, and the places of their indexes."""

    name: str
    parts: Sequence[tuple[int, SemanticIndex]]

    @property
    def is_contextual(self) -> bool:
        """Return whether a contextual model made vectors of nearly all texts."""
        return all(vectors.is_contextual for _, vectors in self.parts)

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """Return the keys of the nearest texts and their cosines, best first."""
        own = dict(self.parts)
        return _find_best(own, lambda place, count: own[place].search(query, count), k)

    def is_missing(self, text_hash: int, max_chunk_chars: int) -> bool:
        """Return whether a text is still to be embedded."""
        place, key = split_number(text_hash)
        return any(
            vectors.is_missing(key, max_chunk_chars)
            for own_place, vectors in self.parts
            if own_place == place
        )


@dataclass(frozen=True, slots=True)
class MergedCatalog:
    """The chunks of all indexes."""

    members: Sequence[IndexMember]

    def find_chunks(self, ids: Sequence[int]) -> dict[int, IndexedChunk]:
        """Return the chunks with these ids that still exist."""
        found: dict[int, IndexedChunk] = {}
        for place, own in _split_by_place(ids):
            chunks = ask_member(place, self._get(place).find_chunks, own)
            found |= {chunk.id: chunk for chunk in _adopt(place, chunks.values())}
        return found

    def find_chunks_by_key(self, keys: Sequence[int]) -> dict[int, list[IndexedChunk]]:
        """Return for each key the chunks with that text."""
        found: dict[int, list[IndexedChunk]] = {}
        for place, own in _split_by_place(keys):
            by_key = ask_member(place, self._get(place).find_chunks_by_key, own)
            for key, chunks in by_key.items():
                found[_join(place, key)] = _adopt(place, chunks)
        return found

    def find_files_named(self, names: Collection[str]) -> dict[str, int]:
        """Return the ids of the files with one of these names, with or without extension."""
        found: dict[str, int] = {}
        for place in range(len(self.members)):
            files = ask_member(place, self._get(place).find_files_named, names)
            found |= {_place_path(path, place): _join(place, it) for path, it in files.items()}
        return found

    def list_chunks(self, file_id: int) -> list[IndexedChunk]:
        """Return the chunks of one file in order."""
        place, own = split_number(file_id)
        return _adopt(place, ask_member(place, self._get(place).list_chunks, own))

    def read_chunk_texts(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the text of each chunk that still exists, by its id."""
        found: dict[int, str] = {}
        for place, own in _split_by_place(ids):
            texts = ask_member(place, self._get(place).read_chunk_texts, own)
            found |= {_join(place, number): text for number, text in texts.items()}
        return found

    def _get(self, place: int) -> SearchableCatalog:
        return self.members[place].store.catalog


def _weigh_terms(shared: Mapping[FieldTerm, float], own: TermCounts) -> dict[FieldTerm, float]:
    """Return how much rarer each term of an index is in all together than in it."""
    return {term: shared[term] / rarity for term, rarity in own.compute_rarities().items()}


def _adopt(place: int, chunks: Iterable[IndexedChunk]) -> list[IndexedChunk]:
    """Return the chunks of an index as they are in all together."""
    if len(_adopted) > MAX_ADOPTED_CHUNKS:
        _adopted.clear()
    found: list[IndexedChunk] = []
    for chunk in chunks:
        number = _join(place, chunk.id)
        own, adopted = _adopted.get(number) or (None, None)
        if own is not chunk or adopted is None:
            adopted = replace(
                chunk,
                id=number,
                text_hash=_join(place, chunk.text_hash),
                path=_place_path(chunk.path, place),
            )
            _adopted[number] = chunk, adopted
        found.append(adopted)
    return found


def _join(place: int, number: int) -> int:
    return (place << _ID_BITS) + number


def _split_by_place(numbers: Iterable[int]) -> Iterable[tuple[int, list[int]]]:
    by_place: dict[int, list[int]] = {}
    for number in numbers:
        place, own = split_number(number)
        by_place.setdefault(place, []).append(own)
    return by_place.items()


def _find_best(
    places: Collection[int], search: Callable[[int, int], ScoredIds], k: int
) -> list[tuple[int, float]]:
    """Return the ``k`` best of what the indexes at these places have, best first.

    Each is asked for its share of them, and for all only if what it kept back may be among them.
    """
    share = min(k, max(MIN_SHARE, SHARE_FACTOR * k // max(1, len(places))))
    found = {place: ask_member(place, search, place, share) for place in places}
    least = _find_least(found.values(), k)
    for place, own in found.items():
        if len(own) == share < k and own[-1][1] >= least:
            found[place] = ask_member(place, search, place, k)
    least = _find_least(found.values(), k)
    best: list[tuple[int, float]] = []
    for place, own in found.items():
        count = bisect_right(own, -least, key=_get_negative_score)
        begin = _join(place, 0)
        best += [(begin + number, score) for number, score in own[:count]]
    best.sort(key=_get_score, reverse=True)
    return best[:k]


def _find_least(lists: Iterable[ScoredIds], k: int) -> float:
    """Return the score of the last of the ``k`` best; less than any if there are fewer."""
    scores = sorted(map(_get_score, chain.from_iterable(lists)), reverse=True)
    return scores[k - 1] if len(scores) >= k > 0 else -math.inf


def _get_negative_score(scored: tuple[int, float]) -> float:
    return -scored[1]
