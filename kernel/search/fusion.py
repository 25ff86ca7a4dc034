"""Several ranked lists become one: pure arithmetic."""

from collections import defaultdict
from collections.abc import Sequence

# The constant of the reciprocal-rank-fusion paper; it keeps one list's first place from outvoting
# agreement between several lists.
RANK_OFFSET = 60


def fuse(rankings: Sequence[Sequence[int]]) -> list[tuple[int, float]]:
    """Ids with their fused scores, best first; 1.0 would be first in every list."""
    scores: dict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, number in enumerate(ranking):
            scores[number] += (RANK_OFFSET + 1) / (RANK_OFFSET + 1 + rank)
    best = sorted(scores.items(), key=lambda entry: (-entry[1], entry[0]))
    return [(number, score / len(rankings)) for number, score in best]
