"""Find the spans of all matches; as a module, the child process of bounded_regex.py.

The child runs one regular expression and is killed from outside if it takes too long.
"""

import pickle
import re
import sys
from itertools import islice

from codekernel.domain.child_process import open_reply_stream

MAX_REGEX_MATCHES = 100_000

Span = tuple[int, int]


def list_match_spans(expression: str, flags: int, text: str) -> list[Span]:
    """Return the spans of the first MAX_REGEX_MATCHES matches."""
    matches = re.finditer(expression, text, flags)
    return [match.span() for match in islice(matches, MAX_REGEX_MATCHES)]


def main() -> None:
    """Read expression, flags and text; write the spans of the matches."""
    job = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our parent
    with open_reply_stream() as replies:
        pickle.dump(list_match_spans(*job), replies)


if __name__ == "__main__":
    main()
