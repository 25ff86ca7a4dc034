"""Where a regular expression matches in a whole text, within a time limit, whatever it is.

An expression that is known to be quick from how it is built runs here; any other in a process of
its own, which is ended when its time is over.
"""

import importlib
import pickle
import re
import subprocess
import sys
import warnings
from typing import Any

from kernel.agent.failing import ToolFailed
from kernel.domain.child_process import CHILD_OPTIONS
from kernel.search.pattern_cost import may_explode, steps

LONGEST_PATTERN = 10_000
MOST_MATCHES = 100_000
# About a tenth of a second at the very worst.
_QUICK_STEPS = 50_000_000
# What lies in the folder somebody works on is never imported.
_NO_STRANGERS = "-I" if sys.flags.isolated else "-P"
_parser: Any = importlib.import_module("re._parser")

Span = tuple[int, int]


def spans(expression: str, flags: int, text: str, seconds: float) -> list[Span]:
    """All matches, in their order; ToolFailed if the expression is wrong or takes too long."""
    tree = _checked(expression, flags)
    if not may_explode(tree) and steps(tree, len(text)) <= _QUICK_STEPS:
        return _found_here(expression, flags, text)
    return _found_elsewhere(expression, flags, text, seconds)


def _checked(expression: str, flags: int) -> Any:
    if len(expression) > LONGEST_PATTERN:
        raise ToolFailed(
            f"The regular expression has {len(expression):,} characters;"
            f" {LONGEST_PATTERN:,} are allowed."
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what a later Python may read differently
            re.compile(expression, flags)
            return _parser.parse(expression, flags)
    except re.error as error:
        where = "" if error.pos is None else f" at character {error.pos + 1}"
        raise ToolFailed(
            f"The regular expression /{expression}/ is not valid{where}: {error.msg}."
        ) from None
    except (OverflowError, RecursionError):
        raise ToolFailed("The regular expression is too deeply nested or too large.") from None


def _found_here(expression: str, flags: int, text: str) -> list[Span]:
    found: list[Span] = []
    for match in re.finditer(expression, text, flags):
        found.append(match.span())
        if len(found) >= MOST_MATCHES:
            break
    return found


def _found_elsewhere(expression: str, flags: int, text: str, seconds: float) -> list[Span]:
    question = pickle.dumps((expression, flags, text, MOST_MATCHES))
    words = [sys.executable, _NO_STRANGERS, "-m", "kernel.agent.regex_child"]
    try:
        done = subprocess.run(  # noqa: S603 - our own module
            words, input=question, capture_output=True, timeout=seconds, check=True,
            **CHILD_OPTIONS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise ToolFailed(
            f"The regular expression /{expression}/ was still running after {seconds:g} seconds:"
            " repeat fewer things within each other, or use an exact anchor."
        ) from None
    except (subprocess.CalledProcessError, OSError):
        raise ToolFailed(f"The regular expression /{expression}/ could not be run.") from None
    found: list[Span] = pickle.loads(done.stdout)  # noqa: S301 - from our own child
    return found
