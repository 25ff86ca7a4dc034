"""What a part of a regular expression may begin with, contain, and leave out.

Characters are those of a sample that stands for all; too many rather than too few are named.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

Item = tuple[Any, Any]  # an operation of ``re`` and its value
Characters = frozenset[str]

REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT"})
NOTHING: Characters = frozenset()
# Characters that stand for all: ASCII, then a letter, an ideograph, a space, a digit, a sign.
_SAMPLES = "".join(map(chr, range(128))) + "\u00e9\u4e2d\u00a0\u0663\u20ac"
_ALL = frozenset(_SAMPLES)
_BEYOND_ASCII = frozenset(_SAMPLES[128:])


def follow_of(rest: Sequence[Item], after: Characters) -> Characters:
    """What may come next; what is after the rest, too, if that may be empty."""
    return first_of(rest) | (after if nullable(rest) else NOTHING)


def first_of(sequence: Iterable[Item]) -> Characters:
    """The characters a match may begin with."""
    found: Characters = NOTHING
    for item in sequence:
        found |= _characters(item, first=True)
        if not nullable([item]):
            break
    return found


def reach_of(sequence: Iterable[Item]) -> Characters:
    """The characters a match may contain."""
    return NOTHING.union(*(_characters(item, first=False) for item in sequence))


def nullable(sequence: Iterable[Item]) -> bool:
    """Whether it may match nothing."""
    for operation, value in sequence:
        name = str(operation)
        if name in {"AT", "ASSERT", "ASSERT_NOT", "GROUPREF", "GROUPREF_EXISTS"}:
            continue
        if name == "BRANCH":
            if any(map(nullable, value[1])):
                continue
        elif name in REPEATS or name == "POSSESSIVE_REPEAT":
            if value[0] == 0 or nullable(value[2]):
                continue
        elif name in {"SUBPATTERN", "ATOMIC_GROUP"} and all(
            map(nullable, parts_of(operation, value))
        ):
            continue
        return False
    return True


def parts_of(operation: Any, value: Any) -> Iterator[Any]:
    """The sequences inside an item."""
    name = str(operation)
    if name in REPEATS or name == "POSSESSIVE_REPEAT":
        yield value[2]
    elif name == "BRANCH":
        yield from value[1]
    elif name == "SUBPATTERN":
        yield value[3]
    elif name == "ATOMIC_GROUP":
        yield value
    elif name in {"ASSERT", "ASSERT_NOT"}:
        yield value[1]
    elif name == "GROUPREF_EXISTS":
        yield from (part for part in value[1:] if part is not None)


def _characters(item: Item, *, first: bool) -> Characters:
    operation, value = item
    name = str(operation)
    inner = list(parts_of(operation, value))
    if inner:
        look = first_of if first else reach_of
        return NOTHING.union(*map(look, inner))
    if name in {"LITERAL", "NOT_LITERAL", "IN"}:
        return _accepted(name, value)
    return _ALL


def _accepted(name: str, value: Any) -> Characters:
    """What one character of the expression stands for, capitals aside."""
    members = [("LITERAL", value)] if name != "IN" else value
    if name == "NOT_LITERAL":
        members = [("NEGATE", None), *members]
    expression = "".join(map(_written, members))
    return _of_set(expression) | (NOTHING if expression.isascii() else _BEYOND_ASCII)


@lru_cache(1024)
def _of_set(expression: str) -> Characters:
    test = re.compile(f"[{expression}]", re.IGNORECASE)
    return frozenset(filter(test.match, _SAMPLES))


def _written(item: Item) -> str:
    """A member of a set of characters, as it is written."""
    name, value = str(item[0]), item[1]
    if name == "NEGATE":
        return "^"
    if name == "LITERAL":
        return re.escape(chr(value))
    if name == "RANGE":
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    kind = str(value).rpartition("_")[2]
    letter = {"SPACE": "s", "WORD": "w", "DIGIT": "d"}[kind]
    return "\\" + (letter.upper() if "_NOT_" in str(value) else letter)
