"""BM25 as tantivy computes it, from statistics that its index does not have.

A base and a developer's own changes are two indexes; scores of both can be compared only if they
weigh each term alike.
"""

import math
from collections.abc import Mapping, Sequence

from codekernel.base.term_statistics import TermStatistics
from codekernel.storage.base.base_rows import split_terms
from codekernel.storage.lexical_documents import FIELD_WEIGHTS
from codekernel.storage.recent_words import K1, B, round_length
from codekernel.storage.term_counts import FieldTerm


class Bm25Scorer:
    """Scores chunks against some stems."""

    def __init__(
        self,
        stems: Sequence[str],
        statistics: TermStatistics,
        weights: Mapping[FieldTerm, float] | None = None,
    ) -> None:
        """With ``weights`` only the terms that have one count, each so much more."""
        documents = statistics.documents
        self._average_lengths = [tokens / max(1, documents) for tokens in statistics.tokens]
        counts = {stem: statistics.get_counts(stem) for stem in stems}
        self._weights = {
            stem: [
                weight
                * (1.0 if weights is None else weights.get((field, stem), 0.0))
                * (K1 + 1)
                * _compute_idf(count, documents)
                for (field, weight), count in zip(FIELD_WEIGHTS.items(), found, strict=True)
            ]
            for stem, found in counts.items()
        }

    def score(self, terms: str) -> float:
        """Return the score of a chunk by its terms."""
        total = 0.0
        for number, field in enumerate(split_terms(terms)):
            length = round_length(len(field))
            norm = K1 * (1 - B + B * length / max(self._average_lengths[number], 1e-9))
            for stem, weights in self._weights.items():
                if frequency := field.count(stem):
                    total += weights[number] * frequency / (frequency + norm)
        return total


def _compute_idf(count: int, documents: int) -> float:
    return math.log1p((max(documents - count, 0) + 0.5) / (count + 0.5))
