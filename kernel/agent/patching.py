"""Hunks of edit_file applied to a text, one after the other, each on what the last one left."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from kernel.agent.bounded_regex import Span, spans
from kernel.agent.failing import ToolFailed
from kernel.agent.line_ends import CRLF, LF, EditedText
from kernel.protocol.tool_arguments import Positive, about

# So many places of an anchor that is not unique are named.
_NAMED_PLACES = 10


@dataclass(frozen=True, slots=True)
class Anchor:
    """What a hunk is tied to."""

    type: Annotated[Literal["exact", "regex"], about("how the pattern is read")]
    pattern: Annotated[
        str, about("text that stands in the file, or a Python regular expression (MULTILINE)")
    ]
    occurrence: Annotated[Literal["first", "last"], about("which match, if there are several")] = (
        "first"
    )
    nth: Annotated[Positive | None, about("the n-th match instead, from 1")] = None
    dotall: Annotated[bool, about("regex: the dot matches newlines too")] = False
    ignorecase: Annotated[bool, about("regex: capitals do not matter")] = False
    range: Annotated[
        tuple[int, int] | None, about("look only in these lines: [first, last], from 1")
    ] = None
    must_unique: Annotated[bool, about("fail if there are several matches")] = False


@dataclass(frozen=True, slots=True)
class Hunk:
    """One change of a patch."""

    op: Annotated[
        Literal["replace", "insert_before", "insert_after", "delete"],
        about("what happens at the anchor"),
    ]
    anchor: Anchor
    content: Annotated[str | None, about("the new text; literally, nothing in it is expanded")] = (
        None
    )
    must_unique: Annotated[bool, about("fail if there are several matches")] = False


@dataclass(frozen=True, slots=True)
class Applied:
    """Where a hunk was applied: ``line`` as the text was when its turn came."""

    hunk: int
    op: str
    line: int
    count: int

    def described(self) -> dict[str, Any]:
        """For the result that a client reads."""
        return {"hunk": self.hunk, "op": self.op, "line": self.line, "count": self.count}


def patched(
    text: EditedText, hunks: Sequence[Hunk], seconds: float
) -> tuple[EditedText, list[Applied]]:
    """The text with all hunks applied; ToolFailed, naming the hunk, if one of them cannot be."""
    applied: list[Applied] = []
    for number, hunk in enumerate(hunks, start=1):
        try:
            start, end, count = _place(text.view, hunk, seconds)
            content = _content(hunk)
        except ToolFailed as error:
            raise ToolFailed(f"Hunk {number}: {error} Nothing was changed.") from None
        line = text.view.count(LF, 0, start) + 1
        applied.append(Applied(number, hunk.op, line, count))
        if hunk.op == "insert_before":
            end = start
        elif hunk.op == "insert_after":
            start = end
        text = text.replaced(start, end, content)
    return text, applied


def _content(hunk: Hunk) -> str:
    if hunk.op == "delete":
        return ""
    if hunk.content is None:
        raise ToolFailed(f"`content` is missing, which {hunk.op} needs.")
    return hunk.content


def _place(view: str, hunk: Hunk, seconds: float) -> tuple[int, int, int]:
    """Beginning and end of the match that is meant, and how many there are."""
    anchor = hunk.anchor
    if not anchor.pattern:
        raise ToolFailed("The anchor's pattern is empty.")
    begin, end = _window(view, anchor.range)
    found = _matches(view[begin:end], anchor, seconds)
    if not found:
        where = f" in lines {anchor.range[0]} to {anchor.range[1]}" if anchor.range else ""
        raise ToolFailed(f"The anchor was not found{where}: {_short(anchor.pattern)}.")
    chosen = _chosen(found, anchor)
    unique = (hunk.must_unique or anchor.must_unique) and anchor.nth is None
    if unique and anchor.occurrence != "last" and len(found) > 1:
        lines = [view.count(LF, 0, begin + start) + 1 for start, _ in found[:_NAMED_PLACES]]
        raise ToolFailed(
            f"The anchor is not unique, it matches {len(found)} times (lines"
            f" {', '.join(map(str, lines))}{', ...' if len(found) > _NAMED_PLACES else ''}):"
            " make it longer, or give nth."
        )
    return begin + chosen[0], begin + chosen[1], len(found)


def _chosen(found: Sequence[Span], anchor: Anchor) -> Span:
    if anchor.nth is None:
        return found[-1] if anchor.occurrence == "last" else found[0]
    if anchor.nth > len(found):
        raise ToolFailed(f"There is no match {anchor.nth} of the anchor, only {len(found)}.")
    return found[anchor.nth - 1]


def _matches(text: str, anchor: Anchor, seconds: float) -> list[Span]:
    if anchor.type == "exact":
        return _exactly(text, anchor.pattern.replace(CRLF, LF))
    flags = re.MULTILINE
    flags |= re.DOTALL if anchor.dotall else re.NOFLAG
    flags |= re.IGNORECASE if anchor.ignorecase else re.NOFLAG
    return spans(anchor.pattern, int(flags), text, seconds)


def _exactly(text: str, pattern: str) -> list[Span]:
    found: list[Span] = []
    place = text.find(pattern)
    while place >= 0:
        found.append((place, place + len(pattern)))
        place = text.find(pattern, place + len(pattern))
    return found


def _window(view: str, lines: tuple[int, int] | None) -> Span:
    """The characters of a range of lines, the line end of the last one included."""
    if lines is None:
        return 0, len(view)
    first, last = lines
    if first < 1 or last < first:
        raise ToolFailed(f"The range [{first}, {last}] is no range of lines, which count from 1.")
    return _begin_of_line(view, first), _begin_of_line(view, last + 1)


def _begin_of_line(view: str, number: int) -> int:
    place = 0
    for _ in range(number - 1):
        place = view.find(LF, place) + 1
        if place == 0:
            return len(view)
    return place


def _short(pattern: str) -> str:
    shown = pattern if len(pattern) <= 200 else pattern[:200] + "..."  # noqa: PLR2004 - a sentence
    return repr(shown)
