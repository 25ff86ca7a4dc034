"""Find all matches of a regular expression within a timeout.

Provably fast expressions run in process, all others in a child process (this module as a program)
that is killed when time is up.
"""

import json
import re
import subprocess
import sys
from itertools import islice

from codekernel.agent.tool_policy import ToolError
from codekernel.domain.child_process import open_reply_stream, start_python_child
from codekernel.errors import WrongParam
from codekernel.search.safe_regex import (
    estimate_steps,
    has_catastrophic_backtracking,
    parse_regex,
)

MAX_PATTERN_CHARACTERS = 10_000

MAX_REGEX_MATCHES = 100_000

# About a tenth of a second at the very worst.
_MAX_IN_PROCESS_STEPS = 50_000_000

Span = tuple[int, int]


def find_spans(expression: str, flags: int, text: str, timeout_seconds: float) -> list[Span]:
    """Return all matches in order; raises ToolError for an invalid or a slow expression."""
    if len(expression) > MAX_PATTERN_CHARACTERS:
        raise ToolError(
            f"The regular expression has {len(expression):,} characters;"
            f" {MAX_PATTERN_CHARACTERS:,} are allowed."
        )
    try:
        _, tree = parse_regex(expression, flags)
    except WrongParam as error:
        raise ToolError(str(error)) from None
    is_fast = estimate_steps(tree, len(text)) <= _MAX_IN_PROCESS_STEPS
    if is_fast and not has_catastrophic_backtracking(tree):
        return _list_match_spans(expression, flags, text)
    return _find_in_child(expression, flags, text, timeout_seconds)


def _find_in_child(expression: str, flags: int, text: str, timeout_seconds: float) -> list[Span]:
    job = json.dumps((expression, flags, text)).encode()
    try:
        with start_python_child("codekernel.agent.workspace.bounded_regex") as child:
            try:
                reply = child.communicate(job, timeout_seconds)[0]
            finally:
                child.kill()
        return [(begin, end) for begin, end in json.loads(reply)]
    except subprocess.TimeoutExpired:
        raise ToolError(
            f"The regular expression /{expression}/ was still running after {timeout_seconds:g}"
            " seconds: repeat fewer things within each other, or use an exact anchor."
        ) from None
    except (OSError, ValueError):
        raise ToolError(f"The regular expression /{expression}/ could not be run.") from None


def _list_match_spans(expression: str, flags: int, text: str) -> list[Span]:
    matches = re.finditer(expression, text, flags)
    return [match.span() for match in islice(matches, MAX_REGEX_MATCHES)]


if __name__ == "__main__":
    with open_reply_stream() as replies:
        spans = _list_match_spans(*json.load(sys.stdin.buffer))
        replies.write(json.dumps(spans).encode())
