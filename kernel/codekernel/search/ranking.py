"""Rank candidates: fuse lexical (BM25) and semantic scores, group by file, rerank.

Each step is a pure function that returns new values. docs/search.md has what each is worth.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, repeat
from operator import eq, itemgetter
from statistics import pstdev
from typing import NamedTuple

from codekernel.domain.index import IndexedChunk, Signal
from codekernel.search.boosts import BoostedChunk, FusedScore
from codekernel.search.query_parser import QueryKind
from codekernel.search.ranking_weights import DEFAULT_WEIGHTS, RankingWeights
from codekernel.search.retrieval import Candidates, ScoredIds

# How much of the score is semantic, by kind of query. On the benchmark: prose .3 .891, .4 .889,
# .5 .888, .6 .884 in English; Chinese, asked in English words too, .3 .849, .4 .851, .5 .843. A
# name, a path and the frames of a stack trace are a matter of words, and so is an error message:
# .3 .781, .4 .779, .5 .770 (see query_parser.py).
SEMANTIC_WEIGHT = {
    QueryKind.SYMBOL: 0.3,
    QueryKind.PROSE: 0.4,
    QueryKind.HAN: 0.4,
    QueryKind.PATH: 0.2,
    QueryKind.ERROR: 0.3,
    QueryKind.TRACE: 0.2,
}

# Of a sentence, if no word of it stands in the name of a candidate's file: then files are named
# after something else, as in a heap of functions. Chosen on 405 questions mined outside of the
# benchmark (scripts/train/ranking_lists.py), with NAME_PARTS_BOOST_OF_UNNAMED.
SEMANTIC_WEIGHT_OF_UNNAMED = 0.6

# The same if a contextual model is heard, and what such models have of a sentence's semantic weight
# if static ones are heard too: chosen together on 300 mined questions about functions in heaps, of
# which .6 and a half are .788, .7 and .8 .787, .8 and .65 .795, .8 and .8 .795, .9 and .8 .793, .8
# and all .788. All that is within noise; 150 web questions (CoSQA) gain .033.
SEMANTIC_WEIGHT_OF_UNNAMED_CONTEXTUAL = 0.8
CONTEXTUAL_SHARE = 0.8

# What is farther from the query than the nearest hundred loses up to half of what the nearest wins.
MIN_SCALED_COSINE = -0.5

# The best chunk of a file gains by the file's other good chunks. Benchmark: without .85, .15 .876,
# .3 .888, .4 .889.
FILE_TOTAL_BOOST = 0.3

# Each further chunk of a file counts for half of the one before: .888; counting all fully .85.
FURTHER_CHUNK_FACTOR = 0.5

# A reranker reads the best chunk of so many files; of more, up to the second number, while all that
# it reads is no longer than ten ordinary chunks are. Functions are short: of web questions (CoSQA)
# it reads 21 for the price of ten, which gains .066 instead of .043.
MIN_RERANKED_FILES, MAX_RERANKED_FILES = 10, 30
MAX_RERANKED_CHARS = 6_800

# What a cosine of 1 adds to the logarithm of a score. Where names tell something, granite gains
# nothing certain beside the learned order of files: with 1, 2 and 4 English -.001, -.005, -.013,
# histories +.003, +.004, -.001, all within noise.
COSINE_WEIGHT = 1.0

# What a reranker says counts more if no file is named after the query. Chosen on 150 questions
# mined in heaps of functions: cosines times 1, 2, 3, 4 gain .011, .022, .028, .029.
EVIDENCE_FACTOR_OF_UNNAMED = 4.0

# What one unit of a cross-encoder's log odds adds to it, and by how much they may deviate.
LOG_ODDS_WEIGHT = 0.02
MAX_LOG_ODDS_DEVIATION = 2.0

# A reranker whose rank correlation with the order is lower is ignored.
MIN_RERANKER_CORRELATION = 0.0

# A score of exactly 0 or 1 would have no odds.
_MIN_PROBABILITY = 1e-6

# Names and paths are ranked by what they name; only these are a matter of meaning.
PROSE_KINDS = frozenset({QueryKind.PROSE, QueryKind.HAN})

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


def fuse_scores(
    candidates: Candidates,
    kind: QueryKind,
    weights: RankingWeights = DEFAULT_WEIGHTS,
    *,
    is_unnamed: bool = False,
) -> dict[int, FusedScore]:
    """Return the weighted scores of each candidate.

    Lexical scores are relative to the best one. A cosine means little by itself, so cosines are
    scaled between the last of the nearest and the first; what words alone found may be below.
    ``is_unnamed``: no file is named after the query.
    """
    weight, shares = _split_semantic_weight(
        candidates.contextual, kind, weights.semantic, is_unnamed=is_unnamed
    )
    best = max(map(_get_score, candidates.lexical), default=0.0) or 1.0
    lexical_unit = (1 - weight) / best
    chunks = candidates.chunks
    semantic = [0.0] * len(chunks)
    for share, nearest, cosines in zip(
        shares, candidates.semantic, candidates.cosines, strict=True
    ):
        scaled = _scale_cosines(nearest, cosines, chunks)
        semantic = [sum_ + share * score for sum_, score in zip(semantic, scaled, strict=True)]
    lexical = map(candidates.lexical_scores.get, chunks, repeat(0.0))
    return {
        number: (lexical_unit * words, meaning)
        for number, words, meaning in zip(chunks, lexical, semantic, strict=True)
    }


def _split_semantic_weight(
    contextual: Sequence[bool], kind: QueryKind, factor: float, *, is_unnamed: bool
) -> tuple[float, list[float]]:
    """Return how much of the score is semantic, and how much of that each config has.

    Configs share alike, but in a sentence contextual models are louder than static ones. Not in
    Chinese, which a contextual model of English does not read.
    """
    count = len(contextual)
    loud = sum(contextual) if kind is QueryKind.PROSE else 0
    weight = SEMANTIC_WEIGHT_OF_UNNAMED if is_unnamed else SEMANTIC_WEIGHT[kind]
    if loud and is_unnamed:
        weight = SEMANTIC_WEIGHT_OF_UNNAMED_CONTEXTUAL
    weight = min(1.0, factor * weight)
    if not 0 < loud < count:
        return (weight, [weight / count] * count) if count else (0.0, [])
    share = weight * CONTEXTUAL_SHARE / loud
    other = weight * (1 - CONTEXTUAL_SHARE) / (count - loud)
    return weight, [share if is_contextual else other for is_contextual in contextual]


def _scale_cosines(
    nearest: ScoredIds, cosines: Mapping[int, float], chunks: Collection[int]
) -> list[float]:
    """Return 1 for the nearest chunk, 0 for the last of the nearest, less for farther ones."""
    least = min(map(_get_score, nearest), default=0.0)
    width = max(map(_get_score, nearest), default=0.0) - least
    if not width:
        # Filters may have taken away what is near.
        near = {number for number, _ in nearest}
        return [float(number in near) for number in chunks]
    # A text that is still to be embedded counts as the last of the nearest.
    scaled = [(cosine - least) / width for cosine in map(cosines.get, chunks, repeat(least))]
    return [max(MIN_SCALED_COSINE, it) for it in scaled]


def group_by_file(
    boosted: Sequence[BoostedChunk], weights: RankingWeights = DEFAULT_WEIGHTS
) -> list[RankedChunk]:
    """Sort the chunks, the best of each file raised by the file's total, the others lowered.

    What that adds is put into the signals of the chunks: a copy of each would take longer.
    """
    totals: dict[str, float] = defaultdict(float)
    for chunk, score, _ in boosted:
        totals[chunk.path] += score
    ordered = _sort_by_score(boosted)
    largest = max(totals.values(), default=0.0)
    unit = weights.file_total * FILE_TOTAL_BOOST * ordered[0][1] if ordered else 0.0
    factors: dict[str, float] = {}
    grouped: list[BoostedChunk] = []
    for chunk, score, signals in ordered:
        path = chunk.path
        factor = factors.get(path)
        factors[path] = FURTHER_CHUNK_FACTOR * (factor or 1.0)
        gain = 0.0
        if factor:
            signals[FURTHER_CHUNK] = score * (factor - 1)
        elif largest > 0:
            signals[FILE_TOTAL] = gain = unit * totals[path] / largest
        grouped.append((chunk, score * (factor or 1.0) + gain, signals))
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


def select_for_reranker(ranked: Sequence[RankedChunk]) -> list[RankedChunk]:
    """Return the best chunk of each of the first files: of more files if they are short."""
    best: dict[str, RankedChunk] = {}
    chars = 0
    for each in ranked:
        if each.chunk.path in best:
            continue
        chars += each.chunk.end - each.chunk.begin
        is_enough = len(best) >= MIN_RERANKED_FILES and chars > MAX_RERANKED_CHARS
        if is_enough or len(best) == MAX_RERANKED_FILES:
            break
        best[each.chunk.path] = each
    return list(best.values())


def weigh_cosines(cosines: Sequence[float]) -> list[float]:
    """Return the evidence of an embedding model: what it adds to the logarithm of each score."""
    return [COSINE_WEIGHT * cosine for cosine in cosines]


def weigh_probabilities(probabilities: Sequence[float]) -> list[float]:
    """Return the evidence of a cross-encoder, whose scale may be any."""
    odds = [_compute_log_odds(value) for value in probabilities]
    deviation = pstdev(odds) if odds else 0.0
    weight = LOG_ODDS_WEIGHT * min(1.0, MAX_LOG_ODDS_DEVIATION / max(deviation, _MIN_PROBABILITY))
    return [weight * value for value in odds]


def add_evidence(
    ranked: Sequence[RankedChunk], read: Sequence[RankedChunk], evidence: Sequence[float]
) -> list[RankedChunk]:
    """Return the order with a reranker's evidence on the chunks it read, which counts by file."""
    correlation = compute_rank_correlation([each.score for each in read], evidence)
    if correlation < MIN_RERANKER_CORRELATION:
        return list(ranked)
    least = min(evidence, default=0.0)
    factors = {
        each.chunk.path: math.exp(value - least) for each, value in zip(read, evidence, strict=True)
    }
    reranked = [
        each.add(Signal.RERANKER, each.score * (factors.get(each.chunk.path, 1.0) - 1))
        for each in ranked
    ]
    return sorted(reranked, key=_get_score, reverse=True)


def drop_overlapping(ranked: Iterable[RankedChunk]) -> Iterator[RankedChunk]:
    """Skip a chunk whose lines a better one of the same file shows; chunk sizes may differ."""
    shown: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for each in ranked:
        begin, end, spans = each.chunk.begin, each.chunk.end, shown[each.chunk.path]
        if all(end <= other_begin or begin >= other_end for other_begin, other_end in spans):
            spans.append((begin, end))
            yield each


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


def _sort_by_score(boosted: Sequence[BoostedChunk]) -> list[BoostedChunk]:
    """Sort best first; equal scores by path and place."""
    ordered = sorted(boosted, key=_get_score, reverse=True)
    scores = list(map(_get_score, ordered))
    end = 0
    for begin, is_equal in enumerate(map(eq, scores, islice(scores, 1, None))):
        if is_equal and begin >= end:  # seldom: only then is it worth the keys
            end = begin + scores[begin:].count(scores[begin])
            ordered[begin:end] = sorted(ordered[begin:end], key=_get_place)
    return ordered


def _get_place(boosted: BoostedChunk) -> tuple[str, int]:
    return boosted[0].path, boosted[0].begin
