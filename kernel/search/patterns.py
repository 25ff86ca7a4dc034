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
from collections.abc import Iterator
from typing import Any

from kernel.errors import WrongParam
from kernel.search.pattern_cost import MOST_STEPS, may_explode, steps

LONGEST_PATTERN = 1_000
# A line that is longer is looked at in pieces of one of these lengths, which overlap by half. An
# expression that would need shorter ones, shorter than ordinary lines are, is refused.
PIECES = (4_000, 2_000, 1_000, 500, 250, 120)
# How ``re`` reads an expression is part of Python, though not of what it promises.
_parser: Any = importlib.import_module("re._parser")


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
    if may_explode(tree):
        raise WrongParam(
            f"The regular expression /{expression}/ could run for ages: a repeated group in it can "
            "match the same text in several ways, as (a+)+ does. Repeat only one of the two."
        )
    if steps(tree, PIECES[-1]) > MOST_STEPS:
        raise WrongParam(
            f"The regular expression /{expression}/ could run for ages: it has too many open-ended "
            "parts as .* in a row. Ask for fewer."
        )
    return pattern


def piece_length(pattern: re.Pattern[str]) -> int:
    """How many characters of a line may be searched at once."""
    tree = _parsed(pattern)
    return next((length for length in PIECES if steps(tree, length) <= MOST_STEPS), PIECES[-1])


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
