"""Find files and symbols by a part of their name, as a palette does while somebody types."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from codekernel.domain.index import IndexedChunk
from codekernel.search.file_kinds import detect_file_kind
from codekernel.storage.catalog.catalog import Catalog

# A longer text names nothing.
MAX_NAME_CHARS = 200

# Chunks whose names contain the text; the best names are chosen from these.
MAX_NAME_CANDIDATES = 2_000

# Behind every name.
_IN_FOLDERS = 10

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[_\W])(?=\w)")

# Behind code of the same rank.
_KIND_ORDER = {"code": 0, "documentation": 1, "data": 1, "example": 2, "test": 3}


class FoundSymbol(NamedTuple):
    """A name that a chunk defines, and the line, from 0, on which it stands."""

    name: str
    path: str
    line: int


def find_file_names(paths: Sequence[str], text: str, limit: int) -> list[str]:
    """Return paths whose name, or else whose folders, have the letters of a text in order."""
    wanted = _normalize(text)
    ranked = []
    for path in paths:
        rank = _rank_name(path.rpartition("/")[2], wanted)
        if rank is None and wanted in path.lower():
            rank = _IN_FOLDERS
        if rank is not None:
            ranked.append((rank, _order_kind(path), len(path), path))
    return [path for *_, path in sorted(ranked)[:limit]]


def find_symbols(catalog: Catalog, text: str, limit: int) -> list[FoundSymbol]:
    """Return the symbols whose name contains a text; ``Class.method`` asks for both."""
    owner, _, name = text.strip()[:MAX_NAME_CHARS].removesuffix("()").rpartition(".")
    wanted = _normalize(name)
    if not wanted:
        return []
    found: dict[tuple[str, str], tuple[tuple[int, int, int, str], IndexedChunk]] = {}
    for chunk in catalog.find_chunks_defining(wanted, MAX_NAME_CANDIDATES):
        if owner and owner.lower() not in ".".join(chunk.symbols).lower():
            continue
        for defined in chunk.defined_names:
            rank = _rank_name(defined, wanted)
            if rank is not None and (chunk.path, defined) not in found:
                order = (rank, _order_kind(chunk.path), len(defined), chunk.path)
                found[chunk.path, defined] = (order, chunk)
    best = sorted(found.items(), key=lambda item: item[1][0])[:limit]
    texts = catalog.read_chunk_texts([chunk.id for _, (_, chunk) in best])
    return [
        FoundSymbol(defined, path, chunk.begin_line + _find_line(texts.get(chunk.id, ""), defined))
        for (path, defined), (_, chunk) in best
    ]


def _rank_name(name: str, wanted: str) -> int | None:
    """Return how well a name fits, 0 for the very name; None if it lacks a letter."""
    lower = name.lower()
    if lower == wanted or lower.rpartition(".")[0] == wanted:
        return 0
    if lower.startswith(wanted):
        return 1
    if any(part.lower().startswith(wanted) for part in _split_at_words(name)):
        return 2
    if wanted in lower:
        return 3
    letters = iter(lower)
    return 4 if all(letter in letters for letter in wanted) else None


def _split_at_words(name: str) -> list[str]:
    """Return the name from each of its words on."""
    return [name[match.start() :] for match in _WORD_START.finditer(name)]


def _find_line(text: str, name: str) -> int:
    """Return the first line with the name as a word."""
    last = re.split(r"\W+", name)[-1] or name
    match = re.search(rf"(?<!\w){re.escape(last)}(?!\w)", text)
    return text.count("\n", 0, match.start()) if match else 0


def _normalize(text: str) -> str:
    return "".join(text[:MAX_NAME_CHARS].lower().split())


def _order_kind(path: str) -> int:
    return _KIND_ORDER[detect_file_kind(path)]
