"""Words and meaning become one score: pure arithmetic."""

from collections.abc import Callable, Sequence
from operator import itemgetter

from kernel.search.query import Kind

Scored = Sequence[tuple[int, float]]
_SCORE: Callable[[tuple[int, float]], float] = itemgetter(1)

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
    by_words = _relative(words, 1 - share)
    by_meaning: dict[int, float] = {}
    for found in nearest:
        stretched = _stretched(found, share / len(nearest))
        if not by_meaning:
            by_meaning = stretched
            continue
        for number, score in stretched.items():
            by_meaning[number] = by_meaning.get(number, 0.0) + score
    return {
        number: (by_words.get(number, 0.0), by_meaning.get(number, 0.0))
        for number in by_words.keys() | by_meaning.keys()
    }


def _relative(scored: Scored, share: float) -> dict[int, float]:
    best = max(map(_SCORE, scored), default=0.0)
    return {number: share * (score / best) for number, score in scored} if best > 0 else {}


def _stretched(scored: Scored, share: float) -> dict[int, float]:
    best = max(map(_SCORE, scored), default=0.0)
    last = min(map(_SCORE, scored), default=0.0)
    if best <= last:
        return {number: share for number, _ in scored}
    width = best - last
    return {number: share * ((score - last) / width) for number, score in scored}
