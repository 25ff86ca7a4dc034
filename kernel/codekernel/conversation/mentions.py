"""What a question names with an @: files, places in them and symbols, each looked up by itself."""

import re

# `@src/a.py`, `@src/a.py:3-9`, `@Session.close`; a mail address and a decorator's call are none.
_MENTION = re.compile(r"(?<![\w@])@([^\s@`\"'()\[\]{}<>]{2,300})")

_LINE_RANGE = re.compile(r"(:\d+)-\d+$")

# Each is a search; a question with more is a pasted text.
MAX_MENTIONS = 8


def find_mentions(question: str) -> tuple[str, ...]:
    """Return the queries for what a question names; ranges begin at their first line."""
    found = (match[1].rstrip(".,;:!?") for match in _MENTION.finditer(question))
    queries = (_LINE_RANGE.sub(r"\1", name) for name in found if len(name) > 1)
    return tuple(dict.fromkeys(queries))[:MAX_MENTIONS]
