"""JSON on disk that may hold anything a file name or a person can hold.

msgspec is ten times as fast as the standard library, and refuses half of a surrogate pair, as it
stands in a path that is not valid Unicode; such content, and only such, takes the slow way.
"""

import json
from typing import Any

import msgspec

from kernel.domain.safe_json import check_depth, parse_json

INDENT = 4


def dumped(value: object, *, indented: bool = False) -> bytes:
    """One line, or with line ends and indentation for a person to read."""
    try:
        content = msgspec.json.encode(value)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(value)
        return json.dumps(plain, indent=INDENT if indented else None).encode("ascii")
    return msgspec.json.format(content, indent=INDENT) if indented else content


def loaded(content: bytes) -> Any:
    """What was dumped; raises ValueError for anything else."""
    try:
        value = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError):
        return parse_json(content)
    check_depth(value)
    return value
