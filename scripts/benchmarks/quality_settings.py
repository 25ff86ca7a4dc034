"""Changes of ranking constants: what is switched off, and which values are compared."""

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

from codekernel.search import boosts
from codekernel.search.chinese import load_lexicon
from codekernel.search.query_parser import QueryKind, parse_query

PACKAGE = "codekernel.search"


@dataclass(frozen=True, slots=True)
class Change:
    """One constant and another value for it; ``kind`` where there is one for each kind of query."""

    module: str
    name: str
    value: object
    kind: str = ""


Setting = tuple[Change, ...]


_KIND_FACTORS = boosts._FILE_KIND_FACTORS  # noqa: SLF001 - only this benchmark changes them


def _without_factor(label: str) -> Change:
    factors = tuple(
        (pattern, 1.0 if other == label else factor, other)
        for pattern, factor, other in _KIND_FACTORS
    )
    return Change("boosts", "_FILE_KIND_FACTORS", factors)


DEFAULTS: Setting = ()
# What is switched off, and by which values.
ABLATIONS: Mapping[str, Setting] = {
    "nothing: the defaults": DEFAULTS,
    "semantic scores of prose (`SEMANTIC_WEIGHT`)": (
        Change("ranking", "SEMANTIC_WEIGHT", 0.0, "PROSE"),
    ),
    "semantic scores of a name": (Change("ranking", "SEMANTIC_WEIGHT", 0.0, "SYMBOL"),),
    "semantic scores of Chinese": (Change("ranking", "SEMANTIC_WEIGHT", 0.0, "HAN"),),
    "all Chinese words": (Change("query_parser", "translate_chinese", lambda *_, **__: []),),
    "the Chinese glossary": (
        Change("chinese", "load_lexicon", partial(load_lexicon, with_glossary=False)),
    ),
    "`DEFINITION_BOOST`, in other capitals too": (
        Change("boosts", "DEFINITION_BOOST", 0.0),
        Change("boosts", "DEFINITION_OTHER_CASE_BOOST", 0.0),
    ),
    "`DEFINITION_OTHER_CASE_BOOST`": (Change("boosts", "DEFINITION_OTHER_CASE_BOOST", 0.0),),
    "`NAME_IN_PROSE_BOOST`": (Change("boosts", "NAME_IN_PROSE_BOOST", 0.0),),
    "`NAME_PARTS_BOOST`": (Change("boosts", "NAME_PARTS_BOOST", 0.0),),
    "`FILE_NAME_BOOST`": (Change("boosts", "FILE_NAME_BOOST", 0.0),),
    "`FOLDER_BOOST`": (Change("boosts", "FOLDER_BOOST", 0.0),),
    "`FILE_TOTAL_BOOST`": (Change("ranking", "FILE_TOTAL_BOOST", 0.0),),
    "`FURTHER_CHUNK_FACTOR` (all count fully)": (Change("ranking", "FURTHER_CHUNK_FACTOR", 1.0),),
    "lowered scores of tests": (Change("boosts", "_TEST_FILE_FACTOR", 1.0),),
    "half of the candidates": (Change("pipeline", "CANDIDATES", 75),),
    "nothing, and twice the candidates": (Change("pipeline", "CANDIDATES", 300),),
    **{f"lowered scores of {label}": (_without_factor(label),) for _, _, label in _KIND_FACTORS},
}
# The main constants; the defaults are the middle values.
GRID: tuple[tuple[Change, ...], ...] = (
    tuple(Change("ranking", "SEMANTIC_WEIGHT", weight, "PROSE") for weight in (0.25, 0.4, 0.55)),
    tuple(Change("ranking", "FILE_TOTAL_BOOST", boost) for boost in (0.15, 0.3, 0.45)),
    tuple(Change("boosts", "FILE_NAME_BOOST", boost) for boost in (0.6, 1.0, 1.5)),
    tuple(Change("boosts", "NAME_PARTS_BOOST", boost) for boost in (0.6, 1.0, 1.5)),
)


def list_grid() -> list[Setting]:
    """Return every combination."""
    return list(product(*GRID))


def describe(setting: Setting) -> str:
    """Return the values alone, for a table."""
    return ", ".join(f"{change.name} {change.value}" for change in setting)


@contextmanager
def apply_setting(setting: Setting) -> Iterator[None]:
    """Rank with other constants inside the block."""
    before: list[tuple[dict[Any, object], Any, object]] = []
    try:
        for change in setting:
            table, key = _find_constant(change)
            before.append((table, key, table[key]))
            table[key] = change.value
        boosts.classify_path.cache_clear()
        parse_query.cache_clear()
        yield
    finally:
        for table, key, value in reversed(before):
            table[key] = value
        boosts.classify_path.cache_clear()
        parse_query.cache_clear()


def _find_constant(change: Change) -> tuple[dict[Any, object], Any]:
    """Return the table and the key of a value: those of a module, or of one of its constants."""
    names = vars(importlib.import_module(f"{PACKAGE}.{change.module}"))
    if change.name not in names:
        raise SystemExit(f"kernel/codekernel/search/{change.module}.py has no {change.name}.")
    return (names[change.name], QueryKind[change.kind]) if change.kind else (names, change.name)
