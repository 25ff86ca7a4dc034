"""SEARCH/REPLACE of apply_change: a block of lines is found whatever its indentation is.

First by lines, white space at their ends and blank lines aside, and what replaces them is indented
as they were; then exactly, letter by letter. The first place counts.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kernel.agent.line_ends import CRLF, LF, EditedText

_INDENT = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True)
class ChangedBlock:
    """The text after the change, and the first line of it, from 1."""

    text: EditedText
    line: int


def changed(text: EditedText, search: str, replacement: str) -> ChangedBlock | None:
    """The text with the block replaced; None if it is nowhere."""
    search, replacement = search.replace(CRLF, LF), replacement.replace(CRLF, LF)
    return _by_lines(text, search, replacement) or _exactly(text, search, replacement)


def _by_lines(text: EditedText, search: str, replacement: str) -> ChangedBlock | None:
    wanted = [line for line in search.split(LF) if line.strip()]
    lines = text.view.split(LF)
    place = _found(lines, [line.strip() for line in wanted])
    if place is None:
        return None
    first, last = place
    begin = sum(len(line) + 1 for line in lines[:first])
    end = begin + sum(len(line) + 1 for line in lines[first : last + 1])
    own = _reindented(replacement, _indent(wanted[0]), _indent(lines[first]))
    if end > len(text.view):  # the last line of the file has no line end, and gets none
        end, own = len(text.view), own.removesuffix(LF)
    return ChangedBlock(text.replaced(begin, end, own), first + 1)


def _exactly(text: EditedText, search: str, replacement: str) -> ChangedBlock | None:
    place = text.view.find(search)
    if place < 0:
        return None
    line = text.view.count(LF, 0, place) + 1
    return ChangedBlock(text.replaced(place, place + len(search), replacement), line)


def _found(lines: Sequence[str], wanted: Sequence[str]) -> tuple[int, int] | None:
    """The first and last of the lines that are wanted, blank ones between them aside."""
    if not wanted:
        return None
    numbers = [number for number, line in enumerate(lines) if line.strip()]
    plain = [lines[number].strip() for number in numbers]
    for start in range(len(plain) - len(wanted) + 1):
        if plain[start] == wanted[0] and plain[start : start + len(wanted)] == list(wanted):
            return numbers[start], numbers[start + len(wanted) - 1]
    return None


def _reindented(content: str, said: str, meant: str) -> str:
    """Whole lines, moved from the indentation they were written with to that of the file."""
    if not content:
        return ""
    lines = content.removesuffix(LF).split(LF)
    return "".join(f"{_moved(line, said, meant)}{LF}" for line in lines)


def _moved(line: str, said: str, meant: str) -> str:
    if not line.strip() or said == meant:
        return line
    if line.startswith(said):
        return meant + line[len(said) :]
    indent = _indent(line)
    kept = max(0, len(meant) - (len(said) - len(indent)))  # further left than the block began
    return meant[:kept] + line[len(indent) :]


def _indent(line: str) -> str:
    found = _INDENT.match(line)
    return found[0] if found else ""
