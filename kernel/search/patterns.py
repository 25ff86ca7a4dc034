"""Regular expressions that may be run: compiled, and known not to run for ages.

``re`` cannot be interrupted and holds Python's lock, so what might backtrack without end is refused
beforehand, by reading how the expression is built: a repeated group must not be able to match the
same text in two ways. Open-ended parts in a row (``.*a.*b``) cost a power of a line's length, so
the more there are, the shorter the pieces of a long line that are looked at. It errs on the side of
refusing: ``(a+){2}`` is harmless and not allowed.
"""

import importlib
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from kernel.errors import WrongParam

LONGEST_PATTERN = 1_000
# A line that is longer is looked at in pieces of one of these lengths, which overlap by half. An
# expression that would need shorter ones, shorter than ordinary lines are, is refused.
PIECES = (4_000, 2_000, 1_000, 500, 250, 120)
# Steps of one search at the worst: (.)+(.)+x in a piece of 500 takes 0.4 s, [ab]*[ab]*[ab]*c in one
# of 120 a tenth. Real lines take a thousandth of that.
MOST_STEPS = 300_000_000

# Characters that stand for all: ASCII, then a letter, an ideograph, a space, a digit, a sign.
_SAMPLES = "".join(map(chr, range(128))) + "\u00e9\u4e2d\u00a0\u0663\u20ac"
_ALL = frozenset(_SAMPLES)
_BEYOND_ASCII = frozenset(_SAMPLES[128:])
_NOTHING: frozenset[str] = frozenset()

# How ``re`` reads an expression is part of Python, though not of what it promises.
_parser: Any = importlib.import_module("re._parser")
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT"})
_Item = tuple[Any, Any]
_Characters = frozenset[str]


def compiled(expression: str, *, ignore_case: bool = False) -> re.Pattern[str]:
    """The expression, ready to run line by line; WrongParam says what is wrong with it."""
    if len(expression) > LONGEST_PATTERN:
        raise WrongParam(
            f"The regular expression has {len(expression)} characters; "
            f"{LONGEST_PATTERN} are allowed."
        )
    flags = re.IGNORECASE if ignore_case else re.NOFLAG
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what a later Python may read differently
            pattern = re.compile(expression, flags)
            tree = _parser.parse(expression, flags)
    except re.error as error:
        where = "" if error.pos is None else f" at character {error.pos + 1}"
        raise WrongParam(
            f"The regular expression /{expression}/ is not valid{where}: {error.msg}."
        ) from error
    except (OverflowError, RecursionError) as error:
        raise WrongParam("The regular expression is too deeply nested or too large.") from error
    if _may_explode(tree):
        raise WrongParam(
            f"The regular expression /{expression}/ could run for ages: a repeated group in it can "
            "match the same text in several ways, as (a+)+ does. Repeat only one of the two."
        )
    if _steps(tree, PIECES[-1]) > MOST_STEPS:
        raise WrongParam(
            f"The regular expression /{expression}/ could run for ages: it has too many open-ended "
            "parts as .* in a row. Ask for fewer."
        )
    return pattern


def piece_length(pattern: re.Pattern[str]) -> int:
    """How many characters of a line may be searched at once."""
    tree = _parsed(pattern)
    return next((length for length in PIECES if _steps(tree, length) <= MOST_STEPS), PIECES[-1])


def pieces(line: str, length: int) -> Iterator[str]:
    """A line as it may be searched: whole, or in overlapping pieces."""
    if len(line) <= length:
        yield line
        return
    for start in range(0, len(line) - length // 2, max(1, length // 2)):
        yield line[start : start + length]


def literals(pattern: re.Pattern[str]) -> list[str]:
    """Texts that stand in every match, where that is easy to see; capitals as in the expression."""
    found, run = [], ""
    for operation, value in _parsed(pattern):
        if str(operation) == "LITERAL":
            run += chr(value)
        else:
            found.append(run)
            run = ""
    return [text for text in (*found, run) if text]


def _parsed(pattern: re.Pattern[str]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)


def _may_explode(sequence: Iterable[_Item]) -> bool:
    """Whether some repeated group may match a text in two ways."""
    for operation, value in sequence:
        if str(operation) in _REPEATS and value[1] > 1:
            body = value[2]
            if _nullable(body) or _ambiguous(body, _first(body)):
                return True
        if any(_may_explode(part) for part in _parts(operation, value)):
            return True
    return False


def _ambiguous(sequence: Sequence[_Item], after: _Characters) -> bool:
    """Whether something in it may end at two places, given what may come after it."""
    items = list(sequence)
    for place, (operation, value) in enumerate(items):
        follow = _follow(items[place + 1 :], after)
        name = str(operation)
        if name in _REPEATS:
            least, most, body = value
            if least != most and _reach(body) & follow:
                return True
            follow |= _first(body)
        if name == "BRANCH" and _overlap(value[1], follow):
            return True
        if name == "GROUPREF" or any(_ambiguous(p, follow) for p in _parts(operation, value)):
            return True
    return False


def _overlap(branches: Sequence[Any], follow: _Characters) -> bool:
    """Whether two branches may begin alike."""
    seen: _Characters = _NOTHING
    for branch in branches:
        first = _first(branch) | (follow if _nullable(branch) else _NOTHING)
        if first & seen:
            return True
        seen |= first
    return False


def _steps(tree: Sequence[_Item], length: int) -> int:
    """How many steps a search in ``length`` characters takes at the worst.

    Each of them may begin a match, and of the repeats that can end in one way alone the last one is
    undone in vain.
    """
    undone = length if _has_plain_repeat(tree, _NOTHING) else 1
    return length * undone * _ways(tree, _NOTHING, length)


def _has_plain_repeat(sequence: Sequence[_Item], after: _Characters) -> bool:
    items = list(sequence)
    for place, (operation, value) in enumerate(items):
        follow = _follow(items[place + 1 :], after)
        is_repeat = str(operation) in _REPEATS and value[1] - value[0] > 1
        if is_repeat and follow and not _reach(value[2]) & follow:
            return True
        if any(_has_plain_repeat(part, follow) for part in _parts(operation, value)):
            return True
    return False


def _ways(sequence: Sequence[_Item], after: _Characters, length: int) -> int:
    """In how many ways it may match."""
    items = list(sequence)
    ways = 1
    for place, (operation, value) in enumerate(items):
        follow = _follow(items[place + 1 :], after)
        name = str(operation)
        inner = [_ways(part, follow, length) for part in _parts(operation, value)]
        if name in _REPEATS:
            least, most, body = value
            if _reach(body) & follow:
                ways *= min(length, most - least + 1)
        if name == "BRANCH" and _overlap(value[1], follow):
            ways *= sum(inner)
        else:
            ways *= max(inner, default=1)
        ways = min(ways, MOST_STEPS + 1)  # enough to know, and no number of a thousand digits
    return ways


def _follow(rest: Sequence[_Item], after: _Characters) -> _Characters:
    """What may come next; what is after the rest, too, if that may be empty."""
    return _first(rest) | (after if _nullable(rest) else _NOTHING)


def _first(sequence: Iterable[_Item]) -> _Characters:
    """The characters a match may begin with."""
    found: _Characters = _NOTHING
    for item in sequence:
        found |= _characters(item, first=True)
        if not _nullable([item]):
            break
    return found


def _reach(sequence: Iterable[_Item]) -> _Characters:
    """The characters a match may contain."""
    return _NOTHING.union(*(_characters(item, first=False) for item in sequence))


def _characters(item: _Item, *, first: bool) -> _Characters:
    operation, value = item
    name = str(operation)
    inner = list(_parts(operation, value))
    if inner:
        look = _first if first else _reach
        return _NOTHING.union(*map(look, inner))
    if name in {"LITERAL", "NOT_LITERAL", "IN"}:
        return _accepted(name, value)
    return _ALL


@lru_cache(1024)
def _of_set(expression: str) -> _Characters:
    test = re.compile(f"[{expression}]", re.IGNORECASE)
    return frozenset(filter(test.match, _SAMPLES))


def _accepted(name: str, value: Any) -> _Characters:
    """What one character of the expression stands for, capitals aside."""
    members = [("LITERAL", value)] if name != "IN" else value
    if name == "NOT_LITERAL":
        members = [("NEGATE", None), *members]
    expression = "".join(map(_written, members))
    return _of_set(expression) | (_NOTHING if expression.isascii() else _BEYOND_ASCII)


def _written(item: _Item) -> str:
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


def _nullable(sequence: Iterable[_Item]) -> bool:
    """Whether it may match nothing."""
    for operation, value in sequence:
        name = str(operation)
        if name in {"AT", "ASSERT", "ASSERT_NOT", "GROUPREF", "GROUPREF_EXISTS"}:
            continue
        if name == "BRANCH":
            if any(map(_nullable, value[1])):
                continue
        elif name in _REPEATS or name == "POSSESSIVE_REPEAT":
            if value[0] == 0 or _nullable(value[2]):
                continue
        elif name in {"SUBPATTERN", "ATOMIC_GROUP"} and all(
            map(_nullable, _parts(operation, value))
        ):
            continue
        return False
    return True


def _parts(operation: Any, value: Any) -> Iterator[Any]:
    """The sequences inside an item."""
    name = str(operation)
    if name in _REPEATS or name == "POSSESSIVE_REPEAT":
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
