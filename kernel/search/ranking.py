"""From candidates to an order: evidence added, tests held back, files weighed as a whole."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter, eq
from typing import NamedTuple

from kernel.domain.indexed import IndexedChunk
from kernel.search import evidence
from kernel.search.evidence_places import mentioned
from kernel.search.places import Place, place_of
from kernel.search.query import Query

# The best chunk of a file gains by the file's other good chunks. Benchmark: without .85, .15 .876,
# .3 .888, .4 .889.
FILE_AS_A_WHOLE = 0.3
# Each further chunk of a file counts for half of the one before: .888; counting all fully .85.
FURTHER_CHUNK = 0.5

_SCORE = attrgetter("score")


@dataclass(slots=True)
class Ranked:
    """A chunk, its score, and what the score is made of."""

    chunk: IndexedChunk
    score: float
    signals: dict[str, float] = field(default_factory=dict)
    # Whether every model is known to have read it.
    is_embedded: bool = False


def rank(
    query: Query,
    fused: Mapping[int, tuple[float, float]],
    chunks: Mapping[int, IndexedChunk],
) -> list[Ranked]:
    """The chunks that still exist, best first."""
    ranked = [
        Ranked(chunks[number], words + meaning, {"words": words, "meaning": meaning})
        for number, (words, meaning) in fused.items()
        if number in chunks
    ]
    unit = max((each.score for each in ranked), default=0.0) or 1.0
    _weigh(query, ranked, unit)
    _weigh_files(ranked)
    _sort(ranked)
    _saturate(ranked)
    _sort(ranked)
    return ranked


def _weigh(query: Query, ranked: Iterable[Ranked], unit: float) -> None:
    """Add the evidence to each score; what a path says is found out once for each file."""
    files: dict[str, _File] = {}
    places = query.places
    for each in ranked:
        indexed = each.chunk
        file = files.get(indexed.path) or files.setdefault(indexed.path, _file(query, indexed.path))
        found = file.found
        if indexed.chunk.defines:
            found = evidence.of_names(query, indexed.chunk, file.place) + found
        if places:
            found = (*found, ("mentioned", mentioned(query, indexed)))
        score = each.score
        for signal, value in found:
            if value:
                each.signals[signal] = value * unit
                score += value * unit
        if file.left != 1.0:
            each.signals["kind of file"] = score * (file.left - 1)
            score *= file.left
        each.score = score


class _File(NamedTuple):
    """What a path says for one query."""

    place: Place
    found: tuple[tuple[str, float], ...]
    left: float


def _file(query: Query, path: str) -> _File:
    place = place_of(path)
    found = (
        ("file name", evidence.file_name(query, place)),
        ("folder", evidence.folder(query, place)),
    )
    return _File(
        place,
        tuple(each for each in found if each[1]),
        place.left(about_tests=query.about_tests),
    )


def _weigh_files(ranked: Iterable[Ranked]) -> None:
    """Let the best chunk of each file gain by what the whole file scores."""
    totals: dict[str, float] = {}
    best: dict[str, Ranked] = {}
    for each in ranked:
        path = each.chunk.path
        rival = best.get(path)
        if rival is None:
            totals[path], best[path] = each.score, each
            continue
        totals[path] += each.score
        if each.score > rival.score or (
            each.score == rival.score and each.chunk.chunk.begin < rival.chunk.chunk.begin
        ):
            best[path] = each
    largest = max(totals.values(), default=0.0)
    unit = max((each.score for each in best.values()), default=0.0)
    if largest <= 0:
        return
    for path, each in best.items():
        gain = FILE_AS_A_WHOLE * unit * totals[path] / largest
        each.signals["file as a whole"] = gain
        each.score += gain


def _saturate(ranked: Iterable[Ranked]) -> None:
    seen: dict[str, int] = {}
    for each in ranked:
        path = each.chunk.path
        before = seen.get(path, 0)
        if before:
            left = FURTHER_CHUNK**before
            each.signals["further chunk of its file"] = each.score * (left - 1)
            each.score *= left
        seen[path] = before + 1


def _sort(ranked: list[Ranked]) -> None:
    """Best first; equal ones always in the same order."""
    ranked.sort(key=_SCORE, reverse=True)
    scores = list(map(_SCORE, ranked))
    if any(map(eq, scores, islice(scores, 1, None))):  # seldom: only then is it worth the keys
        ranked.sort(key=lambda each: (-each.score, each.chunk.path, each.chunk.chunk.begin))
