"""JSON from outside: parsed with a limit on how deep it is nested, and with one kind of error.

A parser stops at the recursion limit with an error that is no ValueError. What lies just below that
limit is worse: it is parsed here, and ends some other thread with a deeper stack, which writes it.
"""

import json
from typing import Any

# Settings and messages have 6, JSON schemas and notebooks some dozens; Python's limit is 1,000.
MAX_DEPTH = 200
_CONTAINERS = (dict, list)


class NestedTooDeeplyError(ValueError):
    """Lists and objects inside of each other, deeper than anything honest."""

    def __init__(self) -> None:
        super().__init__(f"nested too deeply: more than {MAX_DEPTH} lists or objects")


def parse_json(text: str | bytes, **options: Any) -> Any:
    """Parse like ``json.loads``. Raises ValueError, and nothing else, for whatever is no JSON."""
    try:
        value = json.loads(text, **options)
    except RecursionError:
        raise NestedTooDeeplyError from None
    check_depth(value)
    return value


def check_depth(value: object) -> None:
    """Raise NestedTooDeeplyError for a parsed value that has more than MAX_DEPTH levels.

    Level by level, without recursion; about a microsecond for a message without lists in it.
    """
    level: list[Any] = [value] if type(value) in _CONTAINERS else []
    for _ in range(MAX_DEPTH):
        inner: list[Any] = []
        for outer in level:
            for each in outer.values() if type(outer) is dict else outer:
                if type(each) in _CONTAINERS:
                    inner.append(each)  # noqa: PERF401 - twice as fast as a comprehension of two
        if not inner:
            return
        level = inner
    raise NestedTooDeeplyError
