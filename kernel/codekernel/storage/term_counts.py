"""How rare terms are, in one lexical index or in several together."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

# A field and a stem.
FieldTerm = tuple[str, str]


class TermCounts(NamedTuple):
    """How many chunks there are, and in how many of them each term stands."""

    documents: int
    chunks: Mapping[FieldTerm, int]

    def compute_rarities(self) -> dict[FieldTerm, float]:
        """Return the inverse document frequency of BM25 of the terms that there are."""
        return {
            term: math.log1p((max(self.documents, count) - count + 0.5) / (count + 0.5))
            for term, count in self.chunks.items()
            if count
        }


def add_term_counts(counts: Sequence[TermCounts]) -> TermCounts:
    """Return the counts of the same terms in all indexes together."""
    total: Counter[FieldTerm] = Counter()
    for each in counts:
        total.update(each.chunks)
    return TermCounts(sum(each.documents for each in counts), total)
