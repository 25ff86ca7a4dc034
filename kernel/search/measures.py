"""How well hits answer questions whose answers are known, and whether a difference is real. Pure.

The same figures as the retrieval benchmark's: ranks count hits, so that several chunks of one file
push the others down, as they do on a screen.
"""

import math
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import fmean

HITS = 10
# Of the resampled means, what lies between these is the interval; with 2000 of them its ends move
# by less than a tenth of its width.
RESAMPLES = 2000
_LOWEST, _HIGHEST = 0.025, 0.975
_SEED = 5  # the same figures, the same advice


@dataclass(frozen=True, slots=True)
class Measures:
    """Of one question, or the means of many; all 0..1."""

    ndcg: float
    recall: float
    reciprocal_rank: float
    first: float


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean of paired differences and where it lies in 95 of 100 samples like this one."""

    mean: float
    low: float
    high: float

    @property
    def is_noise(self) -> bool:
        """Whether it may as well be none."""
        return self.low <= 0.0 <= self.high


def measured(hits: Sequence[str], wanted: Collection[str]) -> Measures:
    """Judge the first hits, given by their paths; a file counts where it first appears."""
    shown = list(hits[:HITS])
    ranks = [shown.index(path) + 1 for path in wanted if path in shown]
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(HITS, len(wanted)) + 1))
    return Measures(
        ndcg=sum(1 / math.log2(rank + 1) for rank in ranks) / ideal if ideal else 0.0,
        recall=len(ranks) / len(wanted) if wanted else 0.0,
        reciprocal_rank=1 / min(ranks) if ranks else 0.0,
        first=float(1 in ranks),
    )


def mean(each: Sequence[Measures]) -> Measures:
    """The means of all; zeros of none."""
    if not each:
        return Measures(0.0, 0.0, 0.0, 0.0)
    return Measures(
        ndcg=fmean(one.ndcg for one in each),
        recall=fmean(one.recall for one in each),
        reciprocal_rank=fmean(one.reciprocal_rank for one in each),
        first=fmean(one.first for one in each),
    )


def difference(before: Sequence[float], after: Sequence[float]) -> Difference:
    """What ``after`` gains, question by question, with a bootstrap interval."""
    pairs = [new - old for old, new in zip(before, after, strict=True)]
    if not pairs:
        return Difference(0.0, 0.0, 0.0)
    chance = random.Random(_SEED)  # noqa: S311 - not for secrets
    means = sorted(fmean(chance.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    last = RESAMPLES - 1
    return Difference(fmean(pairs), means[round(_LOWEST * last)], means[round(_HIGHEST * last)])
