"""Compile regular expressions that cannot backtrack catastrophically.

The re module cannot be interrupted, so an expression whose repeated group can match a text in two
ways is refused, and long lines are searched in pieces that bound the worst-case number of steps.
Errs on the side of refusing: (a+){2} is harmless and not allowed.
"""

import importlib
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

from codekernel.errors import WrongParam

RegexItem = tuple[Any, Any]  # an operation of ``re`` and its value

CharacterSet = frozenset[str]

NO_CHARACTERS: CharacterSet = frozenset()

# Characters that stand for all: ASCII, then a letter, an ideograph, a space, a digit, a sign.
_SAMPLE_CHARACTERS = "".join(map(chr, range(128))) + "\u00e9\u4e2d\u00a0\u0663\u20ac"

_ALL_CHARACTERS = frozenset(_SAMPLE_CHARACTERS)

_NON_ASCII_CHARACTERS = frozenset(_SAMPLE_CHARACTERS[128:])

# Steps of one search at the worst: (.)+(.)+x in a piece of 500 takes 0.4 s, [ab]*[ab]*[ab]*c in one
# of 120 a tenth. Real lines take a thousandth of that.
MAX_REGEX_STEPS = 300_000_000

# Repeats that backtrack; a possessive one does not.
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT"})

_ALL_REPEATS = _REPEATS | {"POSSESSIVE_REPEAT"}

_ZERO_WIDTH = frozenset({"AT", "ASSERT", "ASSERT_NOT", "GROUPREF", "GROUPREF_EXISTS"})

# The sequences inside an item, by its operation.
_PARTS: dict[str, Callable[[Any], Sequence[Any]]] = {
    **dict.fromkeys(_ALL_REPEATS, lambda value: value[2:]),
    "BRANCH": lambda value: value[1],
    "SUBPATTERN": lambda value: value[3:],
    "ATOMIC_GROUP": lambda value: [value],
    "ASSERT": lambda value: value[1:],
    "ASSERT_NOT": lambda value: value[1:],
    "GROUPREF_EXISTS": lambda value: [part for part in value[1:] if part is not None],
}


def has_catastrophic_backtracking(sequence: Iterable[RegexItem]) -> bool:
    """Whether some repeated group may match a text in two ways."""
    return any(
        _is_catastrophic_repeat(item) or any(map(has_catastrophic_backtracking, _list_parts(item)))
        for item in sequence
    )


def estimate_steps(tree: Sequence[RegexItem], length: int) -> int:
    """Return the worst-case number of steps of a search in ``length`` characters.

    Each of them may begin a match, and of the repeats that can end in one way alone the last one is
    undone in vain.
    """
    undone = length if _has_plain_repeat(tree, NO_CHARACTERS) else 1
    return length * undone * _count_ways(tree, NO_CHARACTERS, length)


def _is_catastrophic_repeat(item: RegexItem) -> bool:
    operation, value = item
    if str(operation) not in _REPEATS or value[1] <= 1:
        return False
    return _is_nullable(value[2]) or _is_ambiguous(value[2], _compute_first_set(value[2]))


def _list_parts(item: RegexItem) -> Sequence[Any]:
    operation, value = item
    return _PARTS[str(operation)](value) if str(operation) in _PARTS else ()


def _iter_items(
    sequence: Iterable[RegexItem], after: CharacterSet
) -> Iterator[tuple[str, Any, Sequence[Any], CharacterSet]]:
    """Yield the operation, value and parts of each item, and the characters that may follow it."""
    items = list(sequence)
    for place, item in enumerate(items):
        follow = _compute_follow_set(items[place + 1 :], after)
        yield str(item[0]), item[1], _list_parts(item), follow


def _compute_follow_set(rest: Sequence[RegexItem], after: CharacterSet) -> CharacterSet:
    """Return what may follow: the first characters of the rest, and ``after`` if it is nullable."""
    return _compute_first_set(rest) | (after if _is_nullable(rest) else NO_CHARACTERS)


def _compute_first_set(sequence: Iterable[RegexItem]) -> CharacterSet:
    """Return the characters a match may begin with."""
    found: CharacterSet = NO_CHARACTERS
    for item in sequence:
        found |= _compute_characters(item, _compute_first_set)
        if not _is_nullable([item]):
            break
    return found


def _compute_character_set(sequence: Iterable[RegexItem]) -> CharacterSet:
    """Return the characters a match may contain."""
    sets = (_compute_characters(item, _compute_character_set) for item in sequence)
    return NO_CHARACTERS.union(*sets)


def _compute_characters(
    item: RegexItem, compute_inner: Callable[[Iterable[RegexItem]], CharacterSet]
) -> CharacterSet:
    if parts := _list_parts(item):
        return NO_CHARACTERS.union(*map(compute_inner, parts))
    operation, value = str(item[0]), item[1]
    if operation not in {"LITERAL", "NOT_LITERAL", "IN"}:
        return _ALL_CHARACTERS
    members = value if operation == "IN" else [("LITERAL", value)]
    negation = "^" if operation == "NOT_LITERAL" else ""
    expression = negation + "".join(map(_format_class_member, members))
    found = _match_character_class(expression)
    return found if expression.isascii() else found | _NON_ASCII_CHARACTERS


def _is_nullable(sequence: Iterable[RegexItem]) -> bool:
    """Whether it may match nothing."""
    return all(map(_is_item_nullable, sequence))


def _is_item_nullable(item: RegexItem) -> bool:
    name, parts = str(item[0]), _list_parts(item)
    if name in _ZERO_WIDTH or (name in _ALL_REPEATS and item[1][0] == 0):
        return True
    if name == "BRANCH":
        return any(map(_is_nullable, parts))
    return bool(parts) and all(map(_is_nullable, parts))


@lru_cache(1024)
def _match_character_class(expression: str) -> CharacterSet:
    """Return the characters that a class has, ignoring case."""
    test = re.compile(f"[{expression}]", re.IGNORECASE)
    return frozenset(filter(test.match, _SAMPLE_CHARACTERS))


def _format_class_member(item: RegexItem) -> str:
    """Return a member of a character class as it is written."""
    name, value = str(item[0]), item[1]
    if name == "NEGATE":
        return "^"
    if name == "LITERAL":
        return re.escape(chr(value))
    if name == "RANGE":
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    letter = {"SPACE": "s", "WORD": "w", "DIGIT": "d"}[str(value).rpartition("_")[2]]
    return "\\" + (letter.upper() if "_NOT_" in str(value) else letter)


def _is_ambiguous(sequence: Iterable[RegexItem], after: CharacterSet) -> bool:
    """Whether something in it may end at two places, given what may come after it."""
    for name, value, parts, follow in _iter_items(sequence, after):
        inside = follow
        if name in _REPEATS:
            least, most, body = value
            if least != most and _compute_character_set(body) & follow:
                return True
            inside = follow | _compute_first_set(body)
        if name == "GROUPREF" or (name == "BRANCH" and _has_overlap(parts, inside)):
            return True
        if any(_is_ambiguous(part, inside) for part in parts):
            return True
    return False


def _has_overlap(branches: Sequence[Any], follow: CharacterSet) -> bool:
    """Whether two branches may begin alike."""
    firsts = [_compute_follow_set(branch, follow) for branch in branches]
    return len(NO_CHARACTERS.union(*firsts)) < sum(map(len, firsts))


def _has_plain_repeat(sequence: Iterable[RegexItem], after: CharacterSet) -> bool:
    for name, value, parts, follow in _iter_items(sequence, after):
        is_repeat = name in _REPEATS and value[1] - value[0] > 1
        if is_repeat and follow and not _compute_character_set(value[2]) & follow:
            return True
        if any(_has_plain_repeat(part, follow) for part in parts):
            return True
    return False


def _count_ways(sequence: Iterable[RegexItem], after: CharacterSet, length: int) -> int:
    """Return in how many ways it may match."""
    ways = 1
    for name, value, parts, follow in _iter_items(sequence, after):
        inner = [_count_ways(part, follow, length) for part in parts]
        if name in _REPEATS and _compute_character_set(value[2]) & follow:
            ways *= min(length, value[1] - value[0] + 1)
        is_alternative = name == "BRANCH" and _has_overlap(parts, follow)
        ways *= sum(inner) if is_alternative else max(inner, default=1)
        ways = min(ways, MAX_REGEX_STEPS + 1)  # enough to know, and no number of a thousand digits
    return ways


MAX_PATTERN_CHARS = 1_000

# A longer line is searched in pieces of one of these lengths, which overlap by half. An expression
# that would need shorter ones, shorter than ordinary lines are, is refused.
PIECE_LENGTHS = (4_000, 2_000, 1_000, 500, 250, 120)

# How ``re`` reads an expression is part of Python, though not of what it promises.
_parser: Any = importlib.import_module("re._parser")


def compile_regex(expression: str, *, ignore_case: bool = False) -> re.Pattern[str]:
    """Compile an expression that runs line by line; WrongParam says what is wrong with it."""
    if len(expression) > MAX_PATTERN_CHARS:
        raise WrongParam(
            f"The regular expression has {len(expression)} characters; "
            f"{MAX_PATTERN_CHARS} are allowed."
        )
    pattern, tree = parse_regex(expression, re.IGNORECASE if ignore_case else re.NOFLAG)
    if has_catastrophic_backtracking(tree):
        raise WrongParam(
            f"The regular expression /{expression}/ could run for ages: a repeated group in it can "
            "match the same text in several ways, as (a+)+ does. Repeat only one of the two."
        )
    if estimate_steps(tree, PIECE_LENGTHS[-1]) > MAX_REGEX_STEPS:
        raise WrongParam(
            f"The regular expression /{expression}/ could run for ages: it has too many open-ended "
            "parts as .* in a row. Ask for fewer."
        )
    return pattern


def parse_regex(expression: str, flags: int) -> tuple[re.Pattern[str], Any]:
    """Return the compiled expression and its parse tree; WrongParam says what is wrong with it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what a later Python may read differently
            return re.compile(expression, flags), _parser.parse(expression, flags)
    except re.error as error:
        where = "" if error.pos is None else f" at character {error.pos + 1}"
        raise WrongParam(
            f"The regular expression /{expression}/ is not valid{where}: {error.msg}."
        ) from error
    except (OverflowError, RecursionError) as error:
        raise WrongParam("The regular expression is too deeply nested or too large.") from error


def choose_piece_length(pattern: re.Pattern[str]) -> int:
    """Return how many characters of a line may be searched at once."""
    tree = parse_regex(pattern.pattern, pattern.flags & ~re.UNICODE)[1]
    return next(
        (length for length in PIECE_LENGTHS if estimate_steps(tree, length) <= MAX_REGEX_STEPS),
        PIECE_LENGTHS[-1],
    )


def split_line(line: str, length: int) -> Iterator[str]:
    """Yield a line whole, or in overlapping pieces."""
    if len(line) <= length:
        yield line
        return
    for start in range(0, len(line) - length // 2, max(1, length // 2)):
        yield line[start : start + length]


def extract_literals(pattern: re.Pattern[str]) -> list[str]:
    """Return texts that every match contains, as far as the top level shows."""
    tree = parse_regex(pattern.pattern, pattern.flags & ~re.UNICODE)[1]
    runs = groupby(tree, key=lambda item: str(item[0]) == "LITERAL")
    return ["".join(chr(value) for _, value in run) for is_literal, run in runs if is_literal]
