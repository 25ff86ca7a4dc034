"""The lines of a text and its outline, the form every language is reduced to before chunking.

A boundary level per line (how bad a split there is) and the definitions. A line ends with a
newline, as tree-sitter and editors count.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class SourceLines:
    """``starts`` has one entry more than there are lines: the length of the text."""

    text: str
    starts: list[int]
    stripped: list[str]

    @property
    def line_count(self) -> int:
        """How many lines there are; a text that ends with a newline has none after it."""
        return len(self.stripped)

    def count_indentation(self, number: int) -> int:
        """How many characters of white space line ``number`` begins with."""
        line = self.text[self.starts[number] : self.starts[number + 1]]
        return len(line) - len(line.lstrip())


def split_lines(text: str) -> SourceLines:
    r"""The lines of ``text``."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    # One more than the length of each for its newline; the last line may have none.
    starts = list(accumulate([len(line) + 1 for line in lines], initial=0))
    starts[-1] = len(text)
    return SourceLines(text, starts, [line.strip() for line in lines])


# Levels within one depth, the best place to split first.
AFTER_BLANK, AFTER_TEXT, BEFORE_BLANK, ATTACHED = range(4)

LEVELS_PER_DEPTH = 4

# A level is a byte. Deeper nodes than this are split like lines.
MAX_DEPTH = 255 // LEVELS_PER_DEPTH - 2

# A line that only closes something belongs to what it closes.
CLOSING_WORDS = frozenset({"end", "end;", "end,", "end)", "fi", "done", "esac", "endif", "#endif"})

MAX_CLOSING_LINE_CHARS = 6

CLOSING_CHARACTERS = "]}){[(;,>"

CLASS_LIKE_KINDS = frozenset(
    {"class", "interface", "struct", "enum", "trait", "impl", "object", "module"}
)


@dataclass(slots=True)
class OutlineDefinition:
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
    introduced_names: tuple[str, ...] = ()
    parent: int = -1


@dataclass(slots=True)
class TextOutline:
    """``levels`` has one byte per line; ``definitions`` are in order, outer before inner."""

    levels: bytearray
    definitions: list[OutlineDefinition] = field(default_factory=list)


def compute_levels(depths: bytearray, lines: SourceLines, attached: Iterable[int]) -> bytearray:
    """Levels from the depth of each boundary; blank lines belong to what is above them."""
    levels = bytearray(len(depths))
    after_blank = True
    for number, (depth, content) in enumerate(zip(depths, lines.stripped, strict=True)):
        if not content:
            levels[number] = depth * LEVELS_PER_DEPTH + BEFORE_BLANK
            after_blank = True
            continue
        levels[number] = depth * LEVELS_PER_DEPTH + (AFTER_BLANK if after_blank else AFTER_TEXT)
        if len(content) <= MAX_CLOSING_LINE_CHARS and is_closing_line(content):
            levels[number] |= ATTACHED
        after_blank = False
    for number in attached:
        levels[number] |= ATTACHED
    return levels


def is_closing_line(content: str) -> bool:
    """Whether a line, stripped, only closes what was opened above it."""
    return not content.strip(CLOSING_CHARACTERS) or content in CLOSING_WORDS


def find_lead_line(levels: bytearray, number: int) -> int:
    """Return the first of the lines that are attached to line ``number``."""
    while number and levels[number] % LEVELS_PER_DEPTH == ATTACHED:
        number -= 1
    return number


def nest_definitions(definitions: list[OutlineDefinition]) -> list[OutlineDefinition]:
    """The definitions in order, each knowing the one around it."""
    ordered = sorted(definitions, key=lambda one: (one.begin, -one.end))
    around: list[int] = []
    for position, one in enumerate(ordered):
        while around and ordered[around[-1]].end <= one.begin:
            around.pop()
        one.parent = around[-1] if around else -1
        around.append(position)
    return ordered
