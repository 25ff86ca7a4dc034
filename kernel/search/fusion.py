"""Words and meaning become one score: pure arithmetic."""

from collections import defaultdict
from collections.abc import Sequence

from kernel.search.query import Kind

Scored = Sequence[tuple[int, float]]

# How much of the score is meaning, by kind of question. On the benchmark: prose .3 .891, .4 .889,
# .5 .888, .6 .884 in English; Chinese, asked in English words too, .4 .818, .5 .823, .6 .817. A
# name, a path and the frames of a trace are a matter of words, and so is what a program says:
# messages .3 .781, .4 .779, .5 .770 (see query.py).
SHARE_OF_MEANING = {
    Kind.SYMBOL: 0.3,
    Kind.PROSE: 0.4,
    Kind.HAN: 0.5,
    Kind.PATH: 0.2,
    Kind.ERROR: 0.3,
    Kind.TRACE: 0.2,
}


def fuse(words: Scored, nearest: Sequence[Scored], kind: Kind) -> dict[int, tuple[float, float]]:
    """For each chunk what its words and what its meaning contribute; 1 would be best in both.

    Word scores are taken relative to the best one. A cosine means little by itself, so those are
    stretched from the last candidate to the first. Several models share the part of meaning.
    """
    share = SHARE_OF_MEANING[kind] if nearest else 0.0
    by_words = {number: (1 - share) * score for number, score in _relative(words)}
    by_meaning: dict[int, float] = defaultdict(float)
    for found in nearest:
        for number, score in _stretched(found):
            by_meaning[number] += share / len(nearest) * score
    return {
        number: (by_words.get(number, 0.0), by_meaning.get(number, 0.0))
        for number in by_words.keys() | by_meaning.keys()
    }


def _relative(scored: Scored) -> Scored:
    best = max((score for _, score in scored), default=0.0)
    return [(number, score / best) for number, score in scored] if best > 0 else []


def _stretched(scored: Scored) -> Scored:
    best = max((score for _, score in scored), default=0.0)
    last = min((score for _, score in scored), default=0.0)
    if best <= last:
        return [(number, 1.0) for number, _ in scored]
    return [(number, (score - last) / (best - last)) for number, score in scored]
