"""Rank candidates: fuse lexical (BM25) and semantic scores, group by file, refine, rerank.

Each step is a pure function that returns new values. docs/search.md has what each is worth.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from operator import eq, itemgetter
from statistics import pstdev
from typing import NamedTuple

from codekernel.domain.index import IndexedChunk, Signal
from codekernel.search.boosts import SEMANTIC, BoostedChunk, FusedScore
from codekernel.search.query_parser import Query, QueryKind
from codekernel.search.retrieval import Candidates

# How much of the score is semantic, by kind of query. On the benchmark: prose .3 .891, .4 .889,
# .5 .888, .6 .884 in English; Chinese, asked in English words too, .4 .818, .5 .823, .6 .817. A
# name, a path and the frames of a stack trace are a matter of words, and so is an error message:
# .3 .781, .4 .779, .5 .770 (see query_parser.py).
SEMANTIC_WEIGHT = {
    QueryKind.SYMBOL: 0.3,
    QueryKind.PROSE: 0.4,
    QueryKind.HAN: 0.5,
    QueryKind.PATH: 0.2,
    QueryKind.ERROR: 0.3,
    QueryKind.TRACE: 0.2,
}

# The best chunk of a file gains by the file's other good chunks. Benchmark: without .85, .15 .876,
# .3 .888, .4 .889.
FILE_TOTAL_BOOST = 0.3

# Each further chunk of a file counts for half of the one before: .888; counting all fully .85.
FURTHER_CHUNK_FACTOR = 0.5

# The semantic refinement of accurate searches reads so many of the first chunks.
MAX_REFINED_CHUNKS = 50

# Of the best score, what the nearest chunk and the nearest path gain.
SEMANTIC_REFINE_BOOST = 0.1

PATH_SIMILARITY_BOOST = 0.1

# The folders around a file that say what it is for; its name says it twice as clearly.
_MAX_PATH_FOLDERS = 2

# Files whose best chunk is read; each takes some 35 milliseconds of two cores. Benchmark with ours:
# 6 .8975, 10 .8970, 20 .8970, without it .8944.
MAX_RERANKED_FILES = 6

# What one unit of log odds is worth. Benchmark with ten files: .01 .8957, .02 .8970, .03 .8970.
RERANKER_WEIGHT = 0.02

# The log odds of our reranker deviate by 1.5 from their mean; no other has much more weight.
MAX_RERANKER_DEVIATION = 2.0

# A reranker whose rank correlation with the order is lower is ignored.
MIN_RERANKER_CORRELATION = 0.0

# A score of exactly 0 or 1 would have no odds.
_MIN_PROBABILITY = 1e-6

# Names and paths are ranked by what they name; only these are a matter of meaning.
PROSE_KINDS = frozenset({QueryKind.PROSE, QueryKind.HAN})

# Returns the cosines of a query and short texts; empty if no model is fast enough.
ComputeSimilarities = Callable[[str, Sequence[str]], Sequence[float]]

# Read once: a member of an Enum costs a tenth of a microsecond in Python 3.11, for each chunk.
FILE_TOTAL, FURTHER_CHUNK = Signal.FILE_TOTAL, Signal.FURTHER_CHUNK

_get_score = itemgetter(1)


class RankedChunk(NamedTuple):
    """A chunk, its score, and the signals that the score is made of."""

    chunk: IndexedChunk
    score: float
    signals: Mapping[Signal, float]

    def add(self, signal: Signal, gain: float) -> "RankedChunk":
        """Return the chunk with a gain, if it is one, added to its score."""
        if not gain:
            return self
        return RankedChunk(self.chunk, self.score + gain, {**self.signals, signal: gain})


# What RankedChunk._make does, in a third of the time.
_make_ranked = partial(tuple.__new__, RankedChunk)


def fuse_scores(candidates: Candidates, kind: QueryKind) -> dict[int, FusedScore]:
    """Return the weighted scores of each candidate.

    Lexical scores are relative to the best one. A cosine means little by itself, so cosines are
    scaled between the last candidate and the first. Several configs share the semantic weight.
    """
    weight = SEMANTIC_WEIGHT[kind] if candidates.semantic else 0.0
    best = max(map(_get_score, candidates.lexical), default=0.0) or 1.0
    lexical = {number: (1 - weight) * (score / best) for number, score in candidates.lexical}
    semantic: dict[int, float] = {}
    for nearest in candidates.semantic:
        share = weight / len(candidates.semantic)
        scaled = _scale_min_max([cosine for _, cosine in nearest], if_equal=1.0)
        for (number, _), score in zip(nearest, scaled, strict=True):
            semantic[number] = semantic.get(number, 0.0) + share * score
    fused = {
        number: (lexical.get(number, 0.0), semantic.get(number, 0.0))
        for number in lexical.keys() | semantic.keys()
    }
    return fused | {number: (0.0, 0.0) for number in candidates.mentioned if number not in fused}


def group_by_file(boosted: Sequence[BoostedChunk]) -> list[RankedChunk]:
    """Sort the chunks, the best of each file raised by the file's total, the others lowered."""
    totals: dict[str, float] = defaultdict(float)
    for chunk, score, _ in boosted:
        totals[chunk.path] += score
    ordered = _sort_by_score(boosted)
    largest = max(totals.values(), default=0.0)
    unit = FILE_TOTAL_BOOST * ordered[0][1] if ordered else 0.0
    factors: dict[str, float] = {}
    grouped: list[BoostedChunk] = []
    for chunk, score, signals in ordered:
        path = chunk.path
        factor = factors.get(path)
        factors[path] = FURTHER_CHUNK_FACTOR * (factor or 1.0)
        if factor:
            lowered = {**signals, FURTHER_CHUNK: score * (factor - 1)}
            grouped.append((chunk, score * factor, lowered))
        elif largest > 0:
            gain = unit * totals[path] / largest
            grouped.append((chunk, score + gain, {**signals, FILE_TOTAL: gain}))
        else:
            grouped.append((chunk, score, signals))
    return list(map(_make_ranked, _sort_by_score(grouped)))


def fuse_rankings(rankings: Sequence[Sequence[RankedChunk]]) -> list[RankedChunk]:
    """Return the order of files that the rankings of several questions agree on.

    A chunk has the sum of its scores, each relative to the best of its ranking; the best chunk of
    a file also has what other chunks of the file gain in the rankings where it is not the first.
    """
    chunks: dict[int, IndexedChunk] = {}
    signals: dict[int, dict[Signal, float]] = defaultdict(lambda: defaultdict(float))
    files: dict[str, float] = defaultdict(float)
    for ranking in rankings:
        unit = ranking[0].score if ranking else 0.0
        if unit <= 0:
            continue
        seen: set[str] = set()
        for chunk, score, parts in ranking:
            chunks[chunk.id] = chunk
            for signal, part in parts.items():
                signals[chunk.id][signal] += part / unit
            if chunk.path not in seen:
                seen.add(chunk.path)
                files[chunk.path] += score / unit
    summed = [
        RankedChunk(chunk, sum(signals[number].values()), dict(signals[number]))
        for number, chunk in chunks.items()
    ]
    best: set[str] = set()
    fused: list[RankedChunk] = []
    for each in sorted(summed, key=_get_score, reverse=True):
        is_best = each.chunk.path not in best
        best.add(each.chunk.path)
        gain = files[each.chunk.path] - each.score if is_best else 0.0
        total = each.signals.get(FILE_TOTAL, 0.0) + gain
        fused.append(
            RankedChunk(each.chunk, each.score + gain, {**each.signals, FILE_TOTAL: total})
            if gain
            else each
        )
    return sorted(fused, key=lambda each: (-each.score, each.chunk.path, each.chunk.begin))


def refine_semantically(
    query: Query, ranked: Sequence[RankedChunk], compute_similarities: ComputeSimilarities
) -> list[RankedChunk]:
    """Return the order with the first chunks compared once more: their texts and their paths."""
    first, rest = ranked[:MAX_REFINED_CHUNKS], ranked[MAX_REFINED_CHUNKS:]
    if query.kind not in PROSE_KINDS or len(first) <= 1:
        return list(ranked)
    unit = first[0].score
    nearness = _scale_min_max([each.signals[SEMANTIC] for each in first])
    similarity = _compare_paths(query, first, compute_similarities)
    refined = [
        each.add(Signal.SEMANTIC_REFINE, SEMANTIC_REFINE_BOOST * unit * near).add(
            Signal.PATH_SIMILARITY, PATH_SIMILARITY_BOOST * unit * similar
        )
        for each, near, similar in zip(first, nearness, similarity, strict=True)
    ]
    return [*sorted(refined, key=_get_score, reverse=True), *rest]


def select_for_reranker(query: Query, ranked: Sequence[RankedChunk]) -> list[RankedChunk]:
    """Return the best chunk of each of the first files; none for a name, a path or an error."""
    best: dict[str, RankedChunk] = {}
    for each in ranked:
        best.setdefault(each.chunk.path, each)
        if len(best) == MAX_RERANKED_FILES:
            break
    return list(best.values()) if query.kind in PROSE_KINDS and len(best) > 1 else []


def blend_reranker_scores(
    ranked: Sequence[RankedChunk], read: Sequence[RankedChunk], scores: Sequence[float]
) -> list[RankedChunk]:
    """Return the order with the reranker's scores (0..1, of the chunks it read) blended in."""
    correlation = compute_rank_correlation([each.score for each in read], scores)
    if correlation < MIN_RERANKER_CORRELATION:
        return list(ranked)
    odds = [_compute_log_odds(score) for score in scores]
    weight = min(1.0, MAX_RERANKER_DEVIATION / max(pstdev(odds), _MIN_PROBABILITY))
    least = min(odds)
    factors = {
        each.chunk.path: math.exp(RERANKER_WEIGHT * weight * (value - least))
        for each, value in zip(read, odds, strict=True)
    }
    blended = [
        each.add(Signal.RERANKER, each.score * (factors.get(each.chunk.path, 1.0) - 1))
        for each in ranked
    ]
    return sorted(blended, key=_get_score, reverse=True)


def drop_overlapping(ranked: Iterable[RankedChunk]) -> Iterator[RankedChunk]:
    """Skip a chunk whose lines a better one of the same file shows; chunk sizes may differ."""
    shown: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for each in ranked:
        begin, end, spans = each.chunk.begin, each.chunk.end, shown[each.chunk.path]
        if all(end <= other_begin or begin >= other_end for other_begin, other_end in spans):
            spans.append((begin, end))
            yield each


def describe_path(path: str) -> str:
    """Return the words of a path that a model compares with the query."""
    *folders, file = path.split("/")
    name = file.rpartition(".")[0] or file
    return " ".join([*folders[-_MAX_PATH_FOLDERS:], name, name])


def compute_rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Return Spearman's rank correlation; 0 where it is not defined."""
    count = len(one)
    if min(len(set(one)), len(set(other))) <= 1:
        return 0.0
    ranks = zip(_compute_ranks(one), _compute_ranks(other), strict=True)
    return 1 - 6 * sum((a - b) ** 2 for a, b in ranks) / (count * (count**2 - 1))


def _compute_ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value, 0 for the least; equal values share the mean of theirs."""
    order = sorted(values)
    return [order.index(value) + (order.count(value) - 1) / 2 for value in values]


def _compute_log_odds(score: float) -> float:
    probability = min(max(score, _MIN_PROBABILITY), 1 - _MIN_PROBABILITY)
    return math.log(probability / (1 - probability))


def _scale_min_max(values: Sequence[float], *, if_equal: float = 0.0) -> list[float]:
    """Scale values so that the least is 0 and the largest is 1."""
    least = min(values, default=0.0)
    width = max(values, default=0.0) - least
    return [(value - least) / width for value in values] if width else [if_equal] * len(values)


def _sort_by_score(boosted: Sequence[BoostedChunk]) -> list[BoostedChunk]:
    """Sort best first; equal scores by path and place."""
    by_score = sorted(boosted, key=_get_score, reverse=True)
    scores = list(map(_get_score, by_score))
    if any(map(eq, scores, islice(scores, 1, None))):  # seldom: only then is it worth the keys
        by_score.sort(key=lambda each: (-each[1], each[0].path, each[0].begin))
    return by_score


def _compare_paths(
    query: Query, ranked: Sequence[RankedChunk], compute_similarities: ComputeSimilarities
) -> list[float]:
    """Return how near the path of each chunk is to the query, 0..1; zeros if no model says it."""
    texts = {each.chunk.path: describe_path(each.chunk.path) for each in ranked}
    cosines = compute_similarities(query.semantic_query, list(texts.values()))
    by_path = dict(zip(texts, cosines, strict=False))
    return _scale_min_max([by_path.get(each.chunk.path, 0.0) for each in ranked])
