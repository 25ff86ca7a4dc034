"""A reranker's opinion, blended into the order and never put in its place.

It reads the best chunk of each of the first files and speaks for the files. Rerankers are trained
on other texts than these; put in the place of a good order of code, they have spoilt it for others.
So what one says moves a file by a few hundredths, more where it is surer, and one that turns the
order round is not heard at all. docs/search.md has what good, useless and hostile ones change.
"""

import math
from collections.abc import Sequence
from statistics import pstdev

from kernel.search.query import Kind, Query
from kernel.search.ranking import Ranked

# Files whose best chunk is read; each takes some 35 milliseconds of two cores. Benchmark with ours:
# 6 .8975, 10 .8970, 20 .8970, without it .8944.
FILES = 6
# What one unit of log odds is worth. Benchmark with ten files: .01 .8957, .02 .8970, .03 .8970.
WEIGHT = 0.02
# Ours deviates by 1.5 from its mean; no other is heard much louder.
LOUDEST = 2.0
# Agreement with the order, as a rank correlation, below which a reranker is not heard.
LEAST_AGREEMENT = 0.0
# An opinion of exactly 0 or 1 would have no odds.
_SUREST = 1e-6
_KINDS = {Kind.PROSE, Kind.HAN}


def to_read(query: Query, ranked: Sequence[Ranked]) -> list[Ranked]:
    """What a reranker is to read; nothing where names and places have said it all."""
    best: dict[str, Ranked] = {}
    for each in ranked:
        best.setdefault(each.chunk.path, each)
        if len(best) == FILES:
            break
    return list(best.values()) if query.kind in _KINDS and len(best) > 1 else []


def blend(
    ranked: Sequence[Ranked], heard: Sequence[Ranked], opinions: Sequence[float]
) -> list[Ranked]:
    """The order with the reranker heard; ``opinions``, 0..1, are of the chunks ``to_read`` gave."""
    if correlation([each.score for each in heard], opinions) < LEAST_AGREEMENT:
        return list(ranked)
    odds = [math.log(it / (1 - it)) for it in (_unsure(opinion) for opinion in opinions)]
    loudness = min(1.0, LOUDEST / max(pstdev(odds), _SUREST))
    least = min(odds)
    factors = {
        each.chunk.path: math.exp(WEIGHT * loudness * (it - least))
        for each, it in zip(heard, odds, strict=True)
    }
    for each in ranked:
        gain = each.score * (factors.get(each.chunk.path, 1.0) - 1)
        if gain:
            each.signals["reranker"] = gain
            each.score += gain
    return sorted(ranked, key=lambda each: -each.score)


def _unsure(opinion: float) -> float:
    return min(max(opinion, _SUREST), 1 - _SUREST)


def correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's rank correlation; 0 where it is not defined."""
    count = len(one)
    if count < 2 or len(set(one)) == 1 or len(set(other)) == 1:  # noqa: PLR2004 - of two at least
        return 0.0
    squares = sum((a - b) ** 2 for a, b in zip(_ranks(one), _ranks(other), strict=True))
    return 1 - 6 * squares / (count * (count**2 - 1))


def _ranks(values: Sequence[float]) -> list[float]:
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
