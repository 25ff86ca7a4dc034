"""Count what hits could be narrowed down to: languages, folders, kinds of files, symbols."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from codekernel.domain.index import IndexedChunk
from codekernel.domain.untrusted_text import encode_path
from codekernel.search.file_kinds import detect_file_kind

# Of each facet, the commonest ones; a page shows fewer at first.
MAX_FACET_VALUES = 24

# Folders of folders of these, so that a deep one can be reached step by step.
MAX_FOLDER_DEPTH = 3

Counts = list[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Facets:
    """How many of ``total`` hits have each value, the commonest first."""

    total: int
    languages: Counts
    folders: Counts
    kinds: Counts
    symbols: Counts


def count_facets(chunks: Iterable[IndexedChunk]) -> Facets:
    """Count the values of the chunks."""
    total = 0
    languages, folders, kinds, symbols = (Counter[str]() for _ in range(4))
    for chunk in chunks:
        total += 1
        languages[chunk.language] += 1
        kinds[detect_file_kind(chunk.path)] += 1
        parts = chunk.path.split("/")[:-1][:MAX_FOLDER_DEPTH]
        folders.update(f"{'/'.join(parts[: depth + 1])}/" for depth in range(len(parts)))
        if names := chunk.symbols or chunk.defined_names:
            symbols[names[0]] += 1
    return Facets(
        total,
        _list_commonest(languages),
        [(encode_path(folder), count) for folder, count in _list_commonest(folders)],
        _list_commonest(kinds),
        _list_commonest(symbols),
    )


def _list_commonest(counts: Counter[str]) -> Counts:
    return counts.most_common(MAX_FACET_VALUES)
