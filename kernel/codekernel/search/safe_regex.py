"""Compile regular expressions that cannot backtrack catastrophically.

The re module cannot be interrupted, so an expression whose repeated group can match a text in two
ways is refused, and long lines are searched in pieces that bound the worst-case number of steps.
Errs on the side of refusing: (a+){2} is harmless and not allowed.
"""

import importlib
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from codekernel.errors import WrongParam

RegexItem = tuple[Any, Any]  # an operation of ``re`` and its value

CharacterSet = frozenset[str]

REPEAT_OPCODES = frozenset({"MAX_REPEAT", "MIN_REPEAT"})

NO_CHARACTERS: CharacterSet = frozenset()

# Characters that stand for all: ASCII, then a letter, an ideograph, a space, a digit, a sign.
_SAMPLE_CHARACTERS = "".join(map(chr, range(128))) + "\u00e9\u4e2d\u00a0\u0663\u20ac"

_ALL_CHARACTERS = frozenset(_SAMPLE_CHARACTERS)

_NON_ASCII_CHARACTERS = frozenset(_SAMPLE_CHARACTERS[128:])


def compute_follow_set(rest: Sequence[RegexItem], after: CharacterSet) -> CharacterSet:
    """Return what may follow: the first characters of the rest, and ``after`` if it is nullable."""
    return compute_first_set(rest) | (after if is_nullable(rest) else NO_CHARACTERS)


def compute_first_set(sequence: Iterable[RegexItem]) -> CharacterSet:
    """Return the characters a match may begin with."""
    found: CharacterSet = NO_CHARACTERS
    for item in sequence:
        found |= _compute_characters(item, first=True)
        if not is_nullable([item]):
            break
    return found


def compute_character_set(sequence: Iterable[RegexItem]) -> CharacterSet:
    """Return the characters a match may contain."""
    return NO_CHARACTERS.union(*(_compute_characters(item, first=False) for item in sequence))


def is_nullable(sequence: Iterable[RegexItem]) -> bool:
    """Whether it may match nothing."""
    for operation, value in sequence:
        name = str(operation)
        if name in {"AT", "ASSERT", "ASSERT_NOT", "GROUPREF", "GROUPREF_EXISTS"}:
            continue
        if name == "BRANCH":
            if any(map(is_nullable, value[1])):
                continue
        elif name in REPEAT_OPCODES or name == "POSSESSIVE_REPEAT":
            if value[0] == 0 or is_nullable(value[2]):
                continue
        elif name in {"SUBPATTERN", "ATOMIC_GROUP"} and all(
            map(is_nullable, iter_parts(operation, value))
        ):
            continue
        return False
    return True


def iter_parts(operation: Any, value: Any) -> Iterator[Any]:
    """Yield the sequences inside an item."""
    name = str(operation)
    if name in REPEAT_OPCODES or name == "POSSESSIVE_REPEAT":
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


def _compute_characters(item: RegexItem, *, first: bool) -> CharacterSet:
    operation, value = item
    name = str(operation)
    inner = list(iter_parts(operation, value))
    if inner:
        look = compute_first_set if first else compute_character_set
        return NO_CHARACTERS.union(*map(look, inner))
    if name in {"LITERAL", "NOT_LITERAL", "IN"}:
        return _expand_characters(name, value)
    return _ALL_CHARACTERS


def _expand_characters(name: str, value: Any) -> CharacterSet:
    """Return what one character of the expression matches, ignoring case."""
    members = [("LITERAL", value)] if name != "IN" else value
    if name == "NOT_LITERAL":
        members = [("NEGATE", None), *members]
    expression = "".join(map(_format_class_member, members))
    return _match_character_class(expression) | (
        NO_CHARACTERS if expression.isascii() else _NON_ASCII_CHARACTERS
    )


@lru_cache(1024)
def _match_character_class(expression: str) -> CharacterSet:
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
    kind = str(value).rpartition("_")[2]
    letter = {"SPACE": "s", "WORD": "w", "DIGIT": "d"}[kind]
    return "\\" + (letter.upper() if "_NOT_" in str(value) else letter)


# Steps of one search at the worst: (.)+(.)+x in a piece of 500 takes 0.4 s, [ab]*[ab]*[ab]*c in one
# of 120 a tenth. Real lines take a thousandth of that.
MAX_REGEX_STEPS = 300_000_000


def has_catastrophic_backtracking(sequence: Iterable[RegexItem]) -> bool:
    """Whether some repeated group may match a text in two ways."""
    for operation, value in sequence:
        if str(operation) in REPEAT_OPCODES and value[1] > 1:
            body = value[2]
            if is_nullable(body) or _is_ambiguous(body, compute_first_set(body)):
                return True
        if any(has_catastrophic_backtracking(part) for part in iter_parts(operation, value)):
            return True
    return False


def estimate_steps(tree: Sequence[RegexItem], length: int) -> int:
    """Return the worst-case number of steps of a search in ``length`` characters.

    Each of them may begin a match, and of the repeats that can end in one way alone the last one is
    undone in vain.
    """
    undone = length if _has_plain_repeat(tree, NO_CHARACTERS) else 1
    return length * undone * _count_ways(tree, NO_CHARACTERS, length)


def _is_ambiguous(sequence: Sequence[RegexItem], after: CharacterSet) -> bool:
    """Whether something in it may end at two places, given what may come after it."""
    items = list(sequence)
    for place, (operation, value) in enumerate(items):
        follow = compute_follow_set(items[place + 1 :], after)
        name = str(operation)
        if name in REPEAT_OPCODES:
            least, most, body = value
            if least != most and compute_character_set(body) & follow:
                return True
            follow |= compute_first_set(body)
        if name == "BRANCH" and _has_overlapping_branches(value[1], follow):
            return True
        if name == "GROUPREF" or any(
            _is_ambiguous(p, follow) for p in iter_parts(operation, value)
        ):
            return True
    return False


def _has_overlapping_branches(branches: Sequence[Any], follow: CharacterSet) -> bool:
    """Whether two branches may begin alike."""
    seen: CharacterSet = NO_CHARACTERS
    for branch in branches:
        first = compute_first_set(branch) | (follow if is_nullable(branch) else NO_CHARACTERS)
        if first & seen:
            return True
        seen |= first
    return False


def _has_plain_repeat(sequence: Sequence[RegexItem], after: CharacterSet) -> bool:
    items = list(sequence)
    for place, (operation, value) in enumerate(items):
        follow = compute_follow_set(items[place + 1 :], after)
        is_repeat = str(operation) in REPEAT_OPCODES and value[1] - value[0] > 1
        if is_repeat and follow and not compute_character_set(value[2]) & follow:
            return True
        if any(_has_plain_repeat(part, follow) for part in iter_parts(operation, value)):
            return True
    return False


def _count_ways(sequence: Sequence[RegexItem], after: CharacterSet, length: int) -> int:
    """Return in how many ways it may match."""
    items = list(sequence)
    ways = 1
    for place, (operation, value) in enumerate(items):
        follow = compute_follow_set(items[place + 1 :], after)
        name = str(operation)
        inner = [_count_ways(part, follow, length) for part in iter_parts(operation, value)]
        if name in REPEAT_OPCODES:
            least, most, body = value
            if compute_character_set(body) & follow:
                ways *= min(length, most - least + 1)
        if name == "BRANCH" and _has_overlapping_branches(value[1], follow):
            ways *= sum(inner)
        else:
            ways *= max(inner, default=1)
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
    found, run = [], ""
    for operation, value in parse_regex(pattern.pattern, pattern.flags & ~re.UNICODE)[1]:
        if str(operation) == "LITERAL":
            run += chr(value)
        else:
            found.append(run)
            run = ""
    return [text for text in (*found, run) if text]
