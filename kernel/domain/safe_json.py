"""JSON from outside: parsed with a limit on how deep it is nested, and with one kind of error.

A parser stops at the recursion limit with an error that is no ValueError. What lies just below that
limit is worse: it is parsed here, and ends some other thread with a deeper stack, which writes it.
"""

import itertools
import json
import re
from typing import Any

# Settings and messages have 6, JSON schemas and notebooks some dozens; Python's limit is 1,000.
MAX_DEPTH = 200

# A string is skipped in one step; one that is never closed ends the search, as it ends the parser.
_TOKENS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{\]}]', re.DOTALL)
_BYTE_TOKENS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[{\]}]', re.DOTALL)


class NestedTooDeeplyError(ValueError):
    """Lists and objects inside of each other, deeper than anything honest."""

    def __init__(self) -> None:
        super().__init__(f"nested too deeply: more than {MAX_DEPTH} lists or objects")


def parse_json(text: str | bytes, **options: Any) -> Any:
    """Parse like ``json.loads``. Raises ValueError, and nothing else, for whatever is no JSON."""
    check_depth(text)
    return json.loads(text, **options)


def check_depth(text: str | bytes) -> None:
    """Raise NestedTooDeeplyError if this is JSON nested deeper than MAX_DEPTH."""
    if isinstance(text, str):
        if text.count("[") + text.count("{") <= MAX_DEPTH:
            return
        brackets = (token[0] for token in _TOKENS.finditer(text))
        steps = (1 if bracket in "[{" else -1 for bracket in brackets if bracket[0] != '"')
    else:
        if text.count(b"[") + text.count(b"{") <= MAX_DEPTH:
            return
        tokens = (token[0] for token in _BYTE_TOKENS.finditer(text))
        steps = (1 if token in b"[{" else -1 for token in tokens if token[:1] != b'"')
    if any(depth > MAX_DEPTH for depth in itertools.accumulate(steps)):
        raise NestedTooDeeplyError
