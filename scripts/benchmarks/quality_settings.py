"""Constants of the ranking, changed for a while: what each is worth, and which values are best."""

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product

from codekernel.search import boosts
from codekernel.search.query_parser import QueryKind

PACKAGE = "codekernel.search"


@dataclass(frozen=True, slots=True)
class Change:
    """One constant and another value for it; ``kind`` where there is one for each kind of query."""

    module: str
    name: str
    value: object
    kind: str = ""


Setting = tuple[Change, ...]


_PENALTIES = boosts._FILE_KIND_FACTORS  # noqa: SLF001 - only this benchmark changes them


def _no_penalty(reason: str) -> Change:
    left = tuple(
        (pattern, 1.0 if why == reason else share, why) for pattern, share, why in _PENALTIES
    )
    return Change("places", "_LEFT_OF", left)


AS_IT_IS: Setting = ()
# What is switched off, and by which values.
ABLATIONS: Mapping[str, Setting] = {
    "nothing: the defaults": AS_IT_IS,
    "meaning in prose (`SHARE_OF_MEANING`)": (Change("fusion", "SHARE_OF_MEANING", 0.0, "PROSE"),),
    "meaning of a name": (Change("fusion", "SHARE_OF_MEANING", 0.0, "SYMBOL"),),
    "meaning in Chinese": (Change("fusion", "SHARE_OF_MEANING", 0.0, "HAN"),),
    "the Chinese glossary": (Change("query", "translated", lambda *_, **__: []),),
    "`DEFINITION`, in other capitals too": (
        Change("evidence", "DEFINITION", 0.0),
        Change("evidence", "DEFINITION_IN_OTHER_CAPITALS", 0.0),
    ),
    "`DEFINITION_IN_OTHER_CAPITALS`": (Change("evidence", "DEFINITION_IN_OTHER_CAPITALS", 0.0),),
    "`NAMED_FILE_FACTOR`": (Change("evidence", "NAMED_FILE_FACTOR", 1.0),),
    "`NAME_IN_PROSE`": (Change("evidence", "NAME_IN_PROSE", 0.0),),
    "`NAMING`": (Change("evidence", "NAMING", 0.0),),
    "`FILE_NAME`": (Change("evidence", "FILE_NAME", 0.0),),
    "`FOLDER`": (Change("evidence", "FOLDER", 0.0),),
    "`FILE_AS_A_WHOLE`": (Change("ranking", "FILE_AS_A_WHOLE", 0.0),),
    "`FURTHER_CHUNK` (all count fully)": (Change("ranking", "FURTHER_CHUNK", 1.0),),
    "tests held back": (Change("places", "_LEFT_OF_TESTS", 1.0),),
    "half of the candidates": (
        Change("searcher", "FEWEST_CANDIDATES", 50),
        Change("searcher", "CANDIDATES_PER_HIT", 5),
    ),
    "nothing, and twice the candidates": (Change("searcher", "FEWEST_CANDIDATES", 200),),
    **{f"{why} held back": (_no_penalty(why),) for _, _, why in _PENALTIES},
}
# The main constants; the values that are in force are the middle ones.
GRID: tuple[tuple[Change, ...], ...] = (
    tuple(Change("fusion", "SHARE_OF_MEANING", share, "PROSE") for share in (0.25, 0.4, 0.55)),
    tuple(Change("ranking", "FILE_AS_A_WHOLE", share) for share in (0.15, 0.3, 0.45)),
    tuple(Change("evidence", "FILE_NAME", worth) for worth in (0.6, 1.0, 1.5)),
    tuple(Change("evidence", "NAMING", worth) for worth in (0.6, 1.0, 1.5)),
)


def grid() -> list[Setting]:
    """Every combination."""
    return list(product(*GRID))


def described(setting: Setting) -> str:
    """The values alone, for a table."""
    return ", ".join(f"{change.name} {change.value:g}" for change in setting)


@contextmanager
def in_force(setting: Setting) -> Iterator[None]:
    """Rank with other constants inside the block."""
    before: list[tuple[object, object, object]] = []
    try:
        for change in setting:
            holder, key = _place(change)
            before.append((holder, key, _get(holder, key)))
            _set(holder, key, change.value)
        boosts.classify_path.cache_clear()
        yield
    finally:
        for holder, key, value in reversed(before):
            _set(holder, key, value)
        boosts.classify_path.cache_clear()


def _place(change: Change) -> tuple[object, object]:
    """Where the value lies: a module and a name, or a table and its key."""
    module = importlib.import_module(f"{PACKAGE}.{change.module}")
    if not hasattr(module, change.name):
        raise SystemExit(
            f"kernel/codekernel/search/{change.module}.py has no {change.name} any more."
        )
    if change.kind:
        return getattr(module, change.name), QueryKind[change.kind]
    return module, change.name


def _get(holder: object, key: object) -> object:
    return holder[key] if isinstance(holder, dict) else getattr(holder, str(key))


def _set(holder: object, key: object, value: object) -> None:
    if isinstance(holder, dict):
        holder[key] = value
    else:
        setattr(holder, str(key), value)
