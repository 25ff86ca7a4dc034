"""How many chunks have a term in each field: what BM25 weighs a term by.

Of a repository as a base has it, minus the chunks that a developer's changes replace, plus theirs.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from codekernel.errors import StorageError
from codekernel.storage.base.base_rows import split_terms
from codekernel.storage.lexical_documents import FIELD_WEIGHTS

FIELD_COUNT = len(FIELD_WEIGHTS)

_COLUMNS = ("term", *FIELD_WEIGHTS)

TermCounts = Mapping[str, tuple[int, ...]]


class SortedTermCounts(Mapping[str, tuple[int, ...]]):
    """Counts by stem in columns, the first of no stem: a tenth of what a dictionary takes."""

    def __init__(self, stems: Sequence[str], fields: Sequence[Sequence[int]]) -> None:
        self._stems, self._fields = stems, fields

    def __getitem__(self, stem: str) -> tuple[int, ...]:
        place = bisect_left(self._stems, stem, 1)
        if place >= len(self._stems) or self._stems[place] != stem:
            raise KeyError(stem)
        return tuple(field[place] for field in self._fields)

    def __iter__(self) -> Iterator[str]:
        return islice(self._stems, 1, None)

    def __len__(self) -> int:
        return len(self._stems) - 1


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """Chunks, stems by field, and by stem the chunks that have it in each field."""

    documents: int = 0
    tokens: tuple[int, ...] = (0,) * FIELD_COUNT
    counts: TermCounts = field(default_factory=dict)

    def get_counts(self, stem: str) -> tuple[int, ...]:
        """Return how many chunks have a stem in each field."""
        return self.counts.get(stem, (0,) * FIELD_COUNT)


def count_terms(terms: Iterable[str]) -> TermStatistics:
    """Count the stems of chunks, each as ``join_terms`` makes them."""
    counters: list[Counter[str]] = [Counter() for _ in range(FIELD_COUNT)]
    tokens, documents = [0] * FIELD_COUNT, 0
    for each in terms:
        documents += 1
        for number, stems in enumerate(split_terms(each)):
            tokens[number] += len(stems)
            counters[number].update(set(stems))
    return TermStatistics(documents, tuple(tokens), _join_counters(counters))


def add_statistics(all_: Sequence[TermStatistics]) -> TermStatistics:
    """Return the statistics of several sets of chunks together."""
    counters: list[Counter[str]] = [Counter() for _ in range(FIELD_COUNT)]
    for each in all_:
        for stem, found in each.counts.items():
            for counter, count in zip(counters, found, strict=True):
                if count:
                    counter[stem] += count
    tokens = (
        tuple(map(sum, zip(*(each.tokens for each in all_), strict=True))) or (0,) * FIELD_COUNT
    )
    return TermStatistics(sum(each.documents for each in all_), tokens, _join_counters(counters))


def _join_counters(counters: Sequence[Counter[str]]) -> TermCounts:
    stems = dict.fromkeys(chain.from_iterable(counters))
    return {stem: tuple(counter[stem] for counter in counters) for stem in stems}


def make_term_columns(statistics: TermStatistics) -> dict[str, list[Any]]:
    """Return statistics as columns, by stem; how many stems there are comes first, without one."""
    rows = [("", *statistics.tokens)]
    rows += [(stem, *statistics.counts[stem]) for stem in sorted(statistics.counts)]
    return {
        name: list(values) for name, values in zip(_COLUMNS, zip(*rows, strict=True), strict=True)
    }


def parse_term_columns(columns: Mapping[str, Sequence[Any]], documents: int) -> TermStatistics:
    """Return the statistics in such columns. Raises StorageError."""
    try:
        stems, *fields = (columns[name] for name in _COLUMNS)
        tokens = tuple(field[0] for field in fields)
    except (KeyError, ValueError, IndexError) as error:
        raise StorageError(f"the terms of the base are damaged: {error}") from error
    return TermStatistics(documents, tokens, SortedTermCounts(stems, fields))
