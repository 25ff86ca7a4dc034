"""What every language is reduced to before it is cut: a level per line, and the definitions.

A *boundary* is the start of a line. Its level says how unwelcome a cut is there: four times the
number of things that reach across it, plus one of the shades below. Everything a language knows
about itself is in these two lists; cutting them (`pieces.py`) is the same for all.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from kernel.chunking.source_lines import SourceLines

# Shades of one depth, least unwelcome first.
AFTER_BLANK, PLAIN, BEFORE_BLANK, GLUED = range(4)
SHADES = 4
# A level is a byte. Deeper things than this are cut like lines, which nobody will notice.
DEEPEST = 255 // SHADES - 2
# A line that only closes something belongs to what it closes.
CLOSERS = frozenset({"end", "end;", "end,", "end)", "fi", "done", "esac", "endif", "#endif"})
LONGEST_CLOSER = 6
CLOSING_CHARACTERS = "]}){[(;,>"

CLASS_LIKE = frozenset(
    {"class", "interface", "struct", "enum", "trait", "impl", "object", "module"}
)


@dataclass(slots=True)
class Definition:
    """Something with a name; ``begin`` and ``end`` are characters of the text.

    ``lead`` is where its comments, decorators and attributes begin, ``head`` where its signature
    does and ``body`` where the signature ends. ``parent`` is a position in the list, or -1.
    """

    begin: int
    end: int
    lead: int
    head: int
    body: int
    kind: str
    names: tuple[str, ...]
    # The names it adds to the program; headings, keys and impl blocks add none.
    introduces: tuple[str, ...] = ()
    parent: int = -1


@dataclass(slots=True)
class Outline:
    """``levels`` has one byte per line; ``definitions`` are in order, outer before inner."""

    levels: bytearray
    definitions: list[Definition] = field(default_factory=list)


def shade(depths: bytearray, lines: SourceLines, glued: Iterable[int]) -> bytearray:
    """Levels from the depth of each boundary; blank lines belong to what is above them."""
    levels = bytearray(len(depths))
    after_blank = True
    for number, (depth, content) in enumerate(zip(depths, lines.stripped, strict=True)):
        if not content:
            levels[number] = depth * SHADES + BEFORE_BLANK
            after_blank = True
            continue
        levels[number] = depth * SHADES + (AFTER_BLANK if after_blank else PLAIN)
        if len(content) <= LONGEST_CLOSER and closes(content):
            levels[number] |= GLUED
        after_blank = False
    for number in glued:
        levels[number] |= GLUED
    return levels


def closes(content: str) -> bool:
    """Whether a line, stripped, only closes what was opened above it."""
    return not content.strip(CLOSING_CHARACTERS) or content in CLOSERS


def lead_line(levels: bytearray, number: int) -> int:
    """The first of the lines that are glued to what begins in line ``number``."""
    while number and levels[number] % SHADES == GLUED:
        number -= 1
    return number


def nest(definitions: list[Definition]) -> list[Definition]:
    """The definitions in order, each knowing the one around it."""
    ordered = sorted(definitions, key=lambda one: (one.begin, -one.end))
    around: list[int] = []
    for position, one in enumerate(ordered):
        while around and ordered[around[-1]].end <= one.begin:
            around.pop()
        one.parent = around[-1] if around else -1
        around.append(position)
    return ordered
