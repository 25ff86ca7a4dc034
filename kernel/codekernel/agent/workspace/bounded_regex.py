"""Find all matches of a regular expression within a timeout.

Provably fast expressions run in process, all others in a child process that is killed when time
is up.
"""

import importlib
import pickle
import re
import subprocess
import warnings
from typing import Any

from codekernel.agent.tool_policy import ToolError
from codekernel.domain.child_process import start_python_child
from codekernel.search.safe_regex import estimate_steps, has_catastrophic_backtracking

MAX_PATTERN_CHARACTERS = 10_000

MAX_REGEX_MATCHES = 100_000

# About a tenth of a second at the very worst.
_MAX_IN_PROCESS_STEPS = 50_000_000

_parser: Any = importlib.import_module("re._parser")

Span = tuple[int, int]


def find_spans(expression: str, flags: int, text: str, timeout_seconds: float) -> list[Span]:
    """Return all matches in order; raises ToolError for an invalid or a slow expression."""
    tree = _parse_expression(expression, flags)
    if (
        not has_catastrophic_backtracking(tree)
        and estimate_steps(tree, len(text)) <= _MAX_IN_PROCESS_STEPS
    ):
        return _find_in_process(expression, flags, text)
    return _find_in_child(expression, flags, text, timeout_seconds)


def _parse_expression(expression: str, flags: int) -> Any:
    if len(expression) > MAX_PATTERN_CHARACTERS:
        raise ToolError(
            f"The regular expression has {len(expression):,} characters;"
            f" {MAX_PATTERN_CHARACTERS:,} are allowed."
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what a later Python may read differently
            re.compile(expression, flags)
            return _parser.parse(expression, flags)
    except re.error as error:
        where = "" if error.pos is None else f" at character {error.pos + 1}"
        raise ToolError(
            f"The regular expression /{expression}/ is not valid{where}: {error.msg}."
        ) from None
    except (OverflowError, RecursionError):
        raise ToolError("The regular expression is too deeply nested or too large.") from None


def _find_in_process(expression: str, flags: int, text: str) -> list[Span]:
    found: list[Span] = []
    for match in re.finditer(expression, text, flags):
        found.append(match.span())
        if len(found) >= MAX_REGEX_MATCHES:
            break
    return found


def _find_in_child(expression: str, flags: int, text: str, timeout_seconds: float) -> list[Span]:
    job = pickle.dumps((expression, flags, text, MAX_REGEX_MATCHES))
    try:
        with start_python_child("codekernel.agent.workspace.regex_child") as child:
            try:
                reply = child.communicate(job, timeout_seconds)[0]
            finally:
                child.kill()
        found: list[Span] = pickle.loads(reply)  # noqa: S301 - from our own child
    except subprocess.TimeoutExpired:
        raise ToolError(
            f"The regular expression /{expression}/ was still running after "
            f"{timeout_seconds:g} seconds:"
            " repeat fewer things within each other, or use an exact anchor."
        ) from None
    except (EOFError, OSError, pickle.UnpicklingError):
        raise ToolError(f"The regular expression /{expression}/ could not be run.") from None
    return found
