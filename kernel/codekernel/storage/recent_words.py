"""The words of chunks that were just saved, searched until the lexical index has committed them.

A commit of tantivy flushes a dozen and a half of files: 0.1 s and more on a disk that others use.
"""

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, product, repeat
from typing import Any, NamedTuple

import tantivy

from codekernel.storage.lexical_documents import (
    BODY,
    FIELD_WEIGHTS,
    LexicalDocument,
    stem_document,
)
from codekernel.storage.term_counts import FieldTerm, TermCounts

# Each search looks at all of them, which takes a third of a millisecond.
MAX_RECENT_CHUNKS = 256

# tantivy's constants of BM25.
K1, B = 1.2, 0.75


# tantivy keeps the length of a field in a byte: exact up to 40, then eight steps of each width.
_EXACT_LENGTHS = 40
_WIDTHS = chain.from_iterable(repeat(2**power, 8) for power in range(1, 28))
_LENGTHS: tuple[int, ...] = (*range(_EXACT_LENGTHS), *accumulate(_WIDTHS, initial=_EXACT_LENGTHS))


def round_length(length: int) -> int:
    """Return the length of a field as tantivy keeps it."""
    return _LENGTHS[bisect_right(_LENGTHS, length) - 1]


# A field and some stems -> how many stems it has on average; None if none of them is in it.
ReadAverageLength = Callable[[str, Iterable[str]], float | None]


class RecentChunk(NamedTuple):
    """How often each stem stands in each field, and how many stems there are."""

    frequencies: Mapping[str, Counter[str]]
    lengths: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class RecentWords:
    """Chunks that are newer than the last commit; never changed, so that any thread may search."""

    chunks: Mapping[int, RecentChunk] = field(default_factory=dict)
    # Chunks of the last commit that are gone, or among ``chunks``.
    replaced: frozenset[int] = frozenset()
    # How many stems a field has on average, in the last commit.
    average_lengths: Mapping[str, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.chunks or self.replaced)

    @property
    def is_full(self) -> bool:
        """Whether a commit costs less than to search so many."""
        return len(self.chunks) + len(self.replaced) > MAX_RECENT_CHUNKS

    def update(
        self,
        removed: Iterable[int],
        documents: Iterable[LexicalDocument],
        read_average_length: ReadAverageLength,
    ) -> "RecentWords":
        """Return these chunks without the ``removed`` ones, and with ``documents``."""
        gone = frozenset(removed)
        chunks = {number: chunk for number, chunk in self.chunks.items() if number not in gone}
        averages = dict(self.average_lengths)
        for document in documents:
            added = chunks[document.chunk_id] = _count_stems(document)
            for name, found in added.frequencies.items():
                average = averages.get(name) or read_average_length(name, found)
                if average:
                    averages[name] = average
        return RecentWords(chunks, self.replaced | (gone - self.chunks.keys()), averages)

    def is_hidden(self, chunk_id: int) -> bool:
        """Return whether what the last commit has of a chunk is out of date."""
        return chunk_id in self.replaced or chunk_id in self.chunks

    def count_terms(self, stems: Sequence[str]) -> dict[FieldTerm, int]:
        """Return in how many chunks each stem stands, by field."""
        return {
            (name, stem): sum(stem in chunk.frequencies[name] for chunk in self.chunks.values())
            for name, stem in product(FIELD_WEIGHTS, stems)
        }

    def score(
        self, stems: Sequence[str], counts: TermCounts, weights: Mapping[FieldTerm, float] | None
    ) -> list[tuple[int, float]]:
        """Return the chunks with any of the stems and their scores, as tantivy computes them.

        ``counts`` are of all chunks.
        """
        scores: dict[int, float] = {}
        rarities = counts.compute_rarities()
        for name, stem in product(FIELD_WEIGHTS, stems):
            weight = FIELD_WEIGHTS[name] * rarities.get((name, stem), 0.0) * (K1 + 1)
            if weights is not None:
                weight *= weights.get((name, stem), 0.0)
            if not weight:
                continue
            for number, chunk in self.chunks.items():
                if times := chunk.frequencies[name][stem]:
                    length = chunk.lengths[name]
                    norm = K1 * (1 - B + B * length / self.average_lengths.get(name, length))
                    scores[number] = scores.get(number, 0.0) + weight * times / (times + norm)
        return list(scores.items())

    def find_all(self, stems: Sequence[str]) -> list[int]:
        """Return the chunks whose text has every one of the stems."""
        return [
            number
            for number, chunk in self.chunks.items()
            if all(stem in chunk.frequencies[BODY] for stem in stems)
        ]


NO_RECENT_WORDS = RecentWords()


def _count_stems(document: LexicalDocument) -> RecentChunk:
    stems = {name: text.split() for name, text in stem_document(document).items()}
    return RecentChunk(
        {name: Counter(found) for name, found in stems.items()},
        {name: round_length(len(found)) for name, found in stems.items()},
    )


def find_average_length(searcher: tantivy.Searcher, query: tantivy.Query) -> float | None:
    """Return the average length of the field of a query for one term; None if nothing has it."""
    hits = searcher.search(query, 1, count=False).hits
    return (
        _find_average(json.loads(query.explain(searcher, hits[0][1]).to_json())) if hits else None
    )


def _find_average(explanation: dict[str, Any]) -> float | None:
    if str(explanation["description"]).startswith("avgdl"):
        return float(explanation["value"])
    found = map(_find_average, explanation.get("details", ()))
    return next(filter(None, found), None)
