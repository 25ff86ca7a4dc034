"""Strings found and replaced in a text, letter by letter, whatever its line ends.

Models write newlines: one in a searched string stands for either line end, and what is put in gets
the line ends of the file (``own``). Everything else stays as it is.
"""

import re
from collections.abc import Sequence
from typing import Final

from kernel.agent.line_ends import CRLF, LF, main_line_end, with_line_ends

# As the clients of these tools judge it: a file's beginning decides.
HEAD_CHARACTERS: Final = 4096

Span = tuple[int, int]


def places(text: str, wanted: str) -> list[Span]:
    """Where a string occurs, from the start, no two overlapping; it is not empty."""
    lines = map(re.escape, wanted.replace(CRLF, LF).split(LF))
    return [found.span() for found in re.finditer(r"\r?\n".join(lines), text)]


def replaced(text: str, spans: Sequence[Span], content: str) -> str:
    """The text with another content in these places; nothing in it is a pattern."""
    kept, at = [], 0
    for start, end in spans:
        kept.append(text[at:start])
        at = end
    return content.join([*kept, text[at:]])


def with_newline_after(text: str, span: Span) -> Span:
    """The place and the line end behind it, if one follows at once."""
    start, end = span
    if text.startswith(LF, end):
        return start, end + len(LF)
    if text.startswith(CRLF, end):
        return start, end + len(CRLF)
    return span


def own(text: str, content: str) -> str:
    """A content that is to stand in a text: carriage returns are added, never taken away."""
    return with_line_ends(content, CRLF) if has_carriage_returns(text) else content


def has_carriage_returns(text: str) -> bool:
    """Whether more lines at the head of a text end with a carriage return than without."""
    return main_line_end(text[:HEAD_CHARACTERS]) == CRLF
