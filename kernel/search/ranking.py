"""From candidates to an order: evidence added, tests held back, files weighed as a whole."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kernel.domain.indexed import IndexedChunk
from kernel.search import evidence
from kernel.search.evidence_places import mentioned
from kernel.search.places import place_of
from kernel.search.query import Query

# The best chunk of a file gains by the file's other good chunks. Benchmark: without .85, .15 .876,
# .3 .888, .4 .889.
FILE_AS_A_WHOLE = 0.3
# Each further chunk of a file counts for half of the one before: .888; counting all fully .85.
FURTHER_CHUNK = 0.5


@dataclass(slots=True)
class Ranked:
    """A chunk, its score, and what the score is made of."""

    chunk: IndexedChunk
    score: float
    signals: dict[str, float] = field(default_factory=dict)


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
    for each in ranked:
        _weigh(query, each, unit)
    _weigh_files(ranked)
    ranked.sort(key=_order)
    _saturate(ranked)
    ranked.sort(key=_order)
    return ranked


def _weigh(query: Query, ranked: Ranked, unit: float) -> None:
    chunk, place = ranked.chunk.chunk, place_of(ranked.chunk.path)
    found = {
        "definition": evidence.definition(query, chunk, place),
        "name": evidence.naming(query, chunk),
        "file name": evidence.file_name(query, place),
        "folder": evidence.folder(query, place),
        "mentioned": mentioned(query, ranked.chunk) if query.places else 0.0,
    }
    for signal, value in found.items():
        if value:
            ranked.signals[signal] = value * unit
            ranked.score += value * unit
    left = place.left(about_tests=query.about_tests)
    if left != 1.0:
        ranked.signals["kind of file"] = ranked.score * (left - 1)
        ranked.score *= left


def _weigh_files(ranked: Iterable[Ranked]) -> None:
    """Let the best chunk of each file gain by what the whole file scores."""
    totals: dict[str, float] = defaultdict(float)
    best: dict[str, Ranked] = {}
    for each in ranked:
        path = each.chunk.path
        totals[path] += each.score
        if path not in best or _order(each) < _order(best[path]):
            best[path] = each
    largest = max(totals.values(), default=0.0)
    unit = max((each.score for each in best.values()), default=0.0)
    for path, each in best.items():
        if largest > 0:
            gain = FILE_AS_A_WHOLE * unit * totals[path] / largest
            each.signals["file as a whole"] = gain
            each.score += gain


def _saturate(ranked: Iterable[Ranked]) -> None:
    seen: dict[str, int] = defaultdict(int)
    for each in ranked:
        before = seen[each.chunk.path]
        if before:
            left = FURTHER_CHUNK**before
            each.signals["further chunk of its file"] = each.score * (left - 1)
            each.score *= left
        seen[each.chunk.path] += 1


def _order(ranked: Ranked) -> tuple[float, str, int]:
    """Best first; equal ones always in the same order."""
    return -ranked.score, ranked.chunk.path, ranked.chunk.chunk.begin
