"""Pure ranking steps: fuse lexical (BM25) and semantic scores, apply boosts, group by file.

Refine the first chunks semantically, blend in reranker scores, drop overlapping chunks.
docs/search.md has what each step is worth.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter, eq, itemgetter
from statistics import pstdev
from typing import NamedTuple

from codekernel.domain.index import IndexedChunk
from codekernel.search import boosts
from codekernel.search.boosts import FileKind, boost_mentioned, classify_path
from codekernel.search.query_parser import Query, QueryKind

ScoredIds = Sequence[tuple[int, float]]

_get_pair_score: Callable[[tuple[int, float]], float] = itemgetter(1)

# How much of the score is meaning, by kind of question. On the benchmark: prose .3 .891, .4 .889,
# .5 .888, .6 .884 in English; Chinese, asked in English words too, .4 .818, .5 .823, .6 .817. A
# name, a path and the frames of a trace are a matter of words, and so is what a program says:
# messages .3 .781, .4 .779, .5 .770 (see query.py).
SEMANTIC_WEIGHT = {
    QueryKind.SYMBOL: 0.3,
    QueryKind.PROSE: 0.4,
    QueryKind.HAN: 0.5,
    QueryKind.PATH: 0.2,
    QueryKind.ERROR: 0.3,
    QueryKind.TRACE: 0.2,
}


def fuse_scores(
    lexical: ScoredIds, semantic: Sequence[ScoredIds], kind: QueryKind
) -> dict[int, tuple[float, float]]:
    """For each chunk what its words and what its meaning contribute; 1 would be best in both.

    Word scores are taken relative to the best one. A cosine means little by itself, so those are
    stretched from the last candidate to the first. Several models share the part of meaning.
    """
    share = SEMANTIC_WEIGHT[kind] if semantic else 0.0
    by_words = _normalize_by_best(lexical, 1 - share)
    by_meaning: dict[int, float] = {}
    for found in semantic:
        stretched = _normalize_min_max(found, share / len(semantic))
        if not by_meaning:
            by_meaning = stretched
            continue
        for number, score in stretched.items():
            by_meaning[number] = by_meaning.get(number, 0.0) + score
    return {
        number: (by_words.get(number, 0.0), by_meaning.get(number, 0.0))
        for number in by_words.keys() | by_meaning.keys()
    }


def _normalize_by_best(scored: ScoredIds, weight: float) -> dict[int, float]:
    best = max(map(_get_pair_score, scored), default=0.0)
    return {number: weight * (score / best) for number, score in scored} if best > 0 else {}


def _normalize_min_max(scored: ScoredIds, weight: float) -> dict[int, float]:
    best = max(map(_get_pair_score, scored), default=0.0)
    last = min(map(_get_pair_score, scored), default=0.0)
    if best <= last:
        return {number: weight for number, _ in scored}
    width = best - last
    return {number: weight * ((score - last) / width) for number, score in scored}


# The best chunk of a file gains by the file's other good chunks. Benchmark: without .85, .15 .876,
# .3 .888, .4 .889.
FILE_TOTAL_BOOST = 0.3

# Each further chunk of a file counts for half of the one before: .888; counting all fully .85.
FURTHER_CHUNK_FACTOR = 0.5

_get_score = attrgetter("score")


@dataclass(slots=True)
class RankedChunk:
    """A chunk, its score, and what the score is made of."""

    chunk: IndexedChunk
    score: float
    signals: dict[str, float] = field(default_factory=dict)
    # Whether every model is known to have read it.
    is_embedded: bool = False


def rank_chunks(
    query: Query,
    fused: Mapping[int, tuple[float, float]],
    chunks: Mapping[int, IndexedChunk],
) -> list[RankedChunk]:
    """The chunks that still exist, best first."""
    ranked = [
        RankedChunk(chunks[number], words + meaning, {"words": words, "meaning": meaning})
        for number, (words, meaning) in fused.items()
        if number in chunks
    ]
    unit = max((each.score for each in ranked), default=0.0) or 1.0
    _apply_boosts(query, ranked, unit)
    _group_by_file(ranked)
    _sort_by_score(ranked)
    _saturate_files(ranked)
    _sort_by_score(ranked)
    return ranked


def _apply_boosts(query: Query, ranked: Iterable[RankedChunk], unit: float) -> None:
    """Add the evidence to each score; what a path says is found out once for each file."""
    files: dict[str, _FileBoosts] = {}
    places = query.mentions
    for each in ranked:
        indexed = each.chunk
        file = files.get(indexed.path) or files.setdefault(
            indexed.path, _boost_file(query, indexed.path)
        )
        found = file.boosts
        if indexed.chunk.defined_names:
            found = boosts.boost_names(query, indexed.chunk, file.file_kind) + found
        if places:
            found = (*found, ("mentioned", boost_mentioned(query, indexed)))
        score = each.score
        for signal, value in found:
            if value:
                each.signals[signal] = value * unit
                score += value * unit
        if file.score_factor != 1.0:
            each.signals["kind of file"] = score * (file.score_factor - 1)
            score *= file.score_factor
        each.score = score


class _FileBoosts(NamedTuple):
    """What a path says for one query."""

    file_kind: FileKind
    boosts: tuple[tuple[str, float], ...]
    score_factor: float


def _boost_file(query: Query, path: str) -> _FileBoosts:
    place = classify_path(path)
    found = (
        ("file name", boosts.boost_file_name(query, place)),
        ("folder", boosts.boost_folder(query, place)),
    )
    return _FileBoosts(
        place,
        tuple(each for each in found if each[1]),
        place.get_score_factor(is_about_tests=query.is_about_tests),
    )


def _group_by_file(ranked: Iterable[RankedChunk]) -> None:
    """Let the best chunk of each file gain by what the whole file scores."""
    totals: dict[str, float] = {}
    best: dict[str, RankedChunk] = {}
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
        gain = FILE_TOTAL_BOOST * unit * totals[path] / largest
        each.signals["file as a whole"] = gain
        each.score += gain


def _saturate_files(ranked: Iterable[RankedChunk]) -> None:
    seen: dict[str, int] = {}
    for each in ranked:
        path = each.chunk.path
        before = seen.get(path, 0)
        if before:
            left = FURTHER_CHUNK_FACTOR**before
            each.signals["further chunk of its file"] = each.score * (left - 1)
            each.score *= left
        seen[path] = before + 1


def _sort_by_score(ranked: list[RankedChunk]) -> None:
    """Best first; equal ones always in the same order."""
    ranked.sort(key=_get_score, reverse=True)
    scores = list(map(_get_score, ranked))
    if any(map(eq, scores, islice(scores, 1, None))):  # seldom: only then is it worth the keys
        ranked.sort(key=lambda each: (-each.score, each.chunk.path, each.chunk.chunk.begin))


MAX_REFINED_CHUNKS = 50

# Of the best score, what the nearest chunk and the nearest path gain.
SEMANTIC_REFINE_BOOST = 0.1

PATH_SIMILARITY_BOOST = 0.1

# The folders around a file that say what it is for; its name says it twice as clearly.
_MAX_PATH_FOLDERS = 2

_REFINED_KINDS = {QueryKind.PROSE, QueryKind.HAN}

# The cosines of a query and short texts; nothing if no model is quick enough to be asked.
ComputeSimilarities = Callable[[str, Sequence[str]], Sequence[float]]


def refine_semantically(
    query: Query, ranked: list[RankedChunk], compute_similarities: ComputeSimilarities
) -> list[RankedChunk]:
    """The order after a closer look at the first ones."""
    heard, rest = ranked[:MAX_REFINED_CHUNKS], ranked[MAX_REFINED_CHUNKS:]
    if query.kind not in _REFINED_KINDS or len(heard) < 2:  # noqa: PLR2004 - nothing to put in order
        return ranked
    unit = heard[0].score
    for each, near in zip(
        heard, _normalize_values([it.signals["meaning"] for it in heard]), strict=True
    ):
        _add_signal(each, "nearness", SEMANTIC_REFINE_BOOST * unit * near)
    for each, near in zip(heard, _compare_paths(query, heard, compute_similarities), strict=False):
        _add_signal(each, "meaning of its path", PATH_SIMILARITY_BOOST * unit * near)
    heard.sort(key=lambda each: -each.score)
    return [*heard, *rest]


def _compare_paths(
    query: Query, candidates: Sequence[RankedChunk], compute_similarities: ComputeSimilarities
) -> list[float]:
    """For each chunk how near its path is, 0..1; nothing if nobody knows."""
    texts = {
        path: describe_path(path) for path in dict.fromkeys(it.chunk.path for it in candidates)
    }
    cosines = compute_similarities(query.semantic_query, list(texts.values()))
    near = dict(zip(texts, cosines, strict=False))
    return _normalize_values([near[it.chunk.path] for it in candidates]) if near else []


def describe_path(path: str) -> str:
    """What a path says of its file."""
    *folders, file = path.split("/")
    name = file.rpartition(".")[0] or file
    return " ".join([*folders[-_MAX_PATH_FOLDERS:], name, name])


def _normalize_values(values: Sequence[float]) -> list[float]:
    least, most = min(values), max(values)
    return [(value - least) / (most - least) if most > least else 0.0 for value in values]


def _add_signal(each: RankedChunk, signal: str, gain: float) -> None:
    if gain:
        each.signals[signal] = gain
        each.score += gain


# Files whose best chunk is read; each takes some 35 milliseconds of two cores. Benchmark with ours:
# 6 .8975, 10 .8970, 20 .8970, without it .8944.
MAX_RERANKED_FILES = 6

# What one unit of log odds is worth. Benchmark with ten files: .01 .8957, .02 .8970, .03 .8970.
RERANKER_WEIGHT = 0.02

# Ours deviates by 1.5 from its mean; no other is heard much louder.
MAX_RERANKER_DEVIATION = 2.0

# Agreement with the order, as a rank correlation, below which a reranker is not heard.
MIN_RERANKER_CORRELATION = 0.0

# An opinion of exactly 0 or 1 would have no odds.
_MIN_PROBABILITY = 1e-6

_RERANKED_KINDS = {QueryKind.PROSE, QueryKind.HAN}


def select_for_reranker(query: Query, ranked: Sequence[RankedChunk]) -> list[RankedChunk]:
    """What a reranker is to read; nothing where names and places have said it all."""
    best: dict[str, RankedChunk] = {}
    for each in ranked:
        best.setdefault(each.chunk.path, each)
        if len(best) == MAX_RERANKED_FILES:
            break
    return list(best.values()) if query.kind in _RERANKED_KINDS and len(best) > 1 else []


def blend_reranker_scores(
    ranked: Sequence[RankedChunk], candidates: Sequence[RankedChunk], scores: Sequence[float]
) -> list[RankedChunk]:
    """The order with the reranker heard; ``opinions``, 0..1, are of the chunks ``to_read`` gave."""
    if (
        compute_rank_correlation([each.score for each in candidates], scores)
        < MIN_RERANKER_CORRELATION
    ):
        return list(ranked)
    odds = [math.log(it / (1 - it)) for it in (_clamp_probability(opinion) for opinion in scores)]
    loudness = min(1.0, MAX_RERANKER_DEVIATION / max(pstdev(odds), _MIN_PROBABILITY))
    least = min(odds)
    factors = {
        each.chunk.path: math.exp(RERANKER_WEIGHT * loudness * (it - least))
        for each, it in zip(candidates, odds, strict=True)
    }
    for each in ranked:
        gain = each.score * (factors.get(each.chunk.path, 1.0) - 1)
        if gain:
            each.signals["reranker"] = gain
            each.score += gain
    return sorted(ranked, key=lambda each: -each.score)


def _clamp_probability(score: float) -> float:
    return min(max(score, _MIN_PROBABILITY), 1 - _MIN_PROBABILITY)


def compute_rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's rank correlation; 0 where it is not defined."""
    count = len(one)
    if count < 2 or len(set(one)) == 1 or len(set(other)) == 1:  # noqa: PLR2004 - of two at least
        return 0.0
    squares = sum(
        (a - b) ** 2 for a, b in zip(_compute_ranks(one), _compute_ranks(other), strict=True)
    )
    return 1 - 6 * squares / (count * (count**2 - 1))


def _compute_ranks(values: Sequence[float]) -> list[float]:
    """The place of each value, 0 for the least; equal ones share the mean of their places."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for place in order[start:end]:
            ranks[place] = (start + end - 1) / 2
        start = end
    return ranks


def drop_overlapping(ranked: Iterable[RankedChunk]) -> Iterator[RankedChunk]:
    """Leave out a chunk whose lines a better one of the same file shows already.

    Several input lengths cut the same lines several times.
    """
    shown: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for each in ranked:
        chunk = each.chunk
        begin, end = chunk.chunk.begin, chunk.chunk.end
        if all(
            end <= other_begin or begin >= other_end for other_begin, other_end in shown[chunk.path]
        ):
            shown[chunk.path].append((begin, end))
            yield each
