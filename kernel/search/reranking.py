"""A reranker's opinion, blended into the order and never put in its place.

Rerankers are trained on other texts than these; put in the place of a good order of code, they
have spoilt it for others. So a reranker is heard in so far as it agrees with the order as a whole:
then its differences are worth something. One that disagrees as chance would is not heard at all.
docs/search.md has what good, useless and hostile ones change.
"""

from collections.abc import Sequence

from kernel.search.ranking import Ranked

# Chunks that are read by the reranker; it takes some 20 to 50 milliseconds for each.
CANDIDATES = 30
# Of the best score, what full confidence in a reranker can move.
LARGEST_SHARE = 0.25
# Agreement, as a rank correlation, below which a reranker is not heard. Thirty random numbers
# reach .3 once in twenty times.
LEAST_AGREEMENT = 0.3


def blend(ranked: Sequence[Ranked], opinions: Sequence[float]) -> list[Ranked]:
    """The order with the reranker heard; ``opinions`` are of the first chunks, 0..1."""
    heard, rest = list(ranked[: len(opinions)]), list(ranked[len(opinions) :])
    agreement = correlation([each.score for each in heard], opinions)
    if agreement < LEAST_AGREEMENT:
        return [*heard, *rest]
    share = LARGEST_SHARE * agreement * max(each.score for each in heard)
    for each, rank in zip(heard, _ranks(opinions), strict=True):
        gain = share * rank / max(1, len(heard) - 1)
        each.signals["reranker"] = gain
        each.score += gain
    heard.sort(key=lambda each: -each.score)
    return [*heard, *rest]


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
