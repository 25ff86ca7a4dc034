"""The outline of a text, the form every language is reduced to before chunking.

A boundary level per line (how bad a split there is) and the definitions. A line ends with a
newline, as tree-sitter and editors count. Markdown and reStructuredText are outlined by headings,
code by its syntax (outliner.py), other text by indentation.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple


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
    """The lines of ``text``."""
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

# A comment is cut from what it describes only where nothing else can be cut.
COMMENT_DEPTH = MAX_DEPTH + 1

DESCRIBED_LEVEL = COMMENT_DEPTH * LEVELS_PER_DEPTH + ATTACHED

# A line that only closes something belongs to what it closes.
CLOSING_WORDS = frozenset({"end", "end;", "end,", "end)", "fi", "done", "esac", "endif", "#endif"})

MAX_CLOSING_LINE_CHARS = 6

CLOSING_CHARACTERS = "]}){[(;,>"


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


def compute_levels(
    depths: bytearray, lines: SourceLines, attached: Iterable[int], described: Iterable[int] = ()
) -> bytearray:
    """Levels from the depth of each boundary; blank lines belong to what is above them.

    ``attached`` lines belong to what is above them at their depth, ``described`` ones to the
    comment above them before anything else.
    """
    levels = bytearray(len(depths))
    previous = ""
    for number, (depth, content) in enumerate(zip(depths, lines.stripped, strict=True)):
        if not content:
            place = BEFORE_BLANK
        elif len(content) <= MAX_CLOSING_LINE_CHARS and is_closing_line(content):
            place = ATTACHED
        else:
            place = AFTER_TEXT if previous else AFTER_BLANK
        levels[number] = depth * LEVELS_PER_DEPTH + place
        previous = content
    for number in attached:
        if 0 < number < len(levels):
            levels[number] |= ATTACHED
    for number in described:
        if 0 < number < len(levels):
            levels[number] = DESCRIBED_LEVEL
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


# Markdown has six depths of headings; text lies deeper than all of them, fenced code deeper still.
MAX_HEADING_DEPTH = 6

_ATX_HEADING = re.compile(r"(#{1,6})(?:\s+(.*?))?(?:\s+#+)?$")

_FENCE = re.compile(r"(`{3,}|~{3,})")

_SETEXT_DEPTHS = {"=": 1, "-": 2}

_RST_ADORNMENT = re.compile(r"""([=\-`:.'"~^_*+#<>])\1{2,}$""")

_FRONT_MATTER = "---"

# Markdown takes lines that are indented so far for code.
_CODE_INDENTATION = 4


class _Heading(NamedTuple):
    line: int
    depth: int
    title: str


def outline_markdown(lines: SourceLines) -> TextOutline:
    """Sections of a Markdown text."""
    fenced = _find_fenced_lines(lines)
    return _outline_sections(lines, list(_find_markdown_headings(lines, fenced)), fenced)


def outline_rst(lines: SourceLines) -> TextOutline:
    """Sections of a reStructuredText; adornments rank in the order in which they first appear."""
    return _outline_sections(lines, list(_find_rst_headings(lines)), bytearray(lines.line_count))


def _outline_sections(
    lines: SourceLines, headings: list[_Heading], fenced: bytearray
) -> TextOutline:
    depths = bytearray(MAX_HEADING_DEPTH + inside for inside in fenced)
    for heading in headings:
        depths[heading.line] = heading.depth - 1
    levels = compute_levels(depths, lines, (one.line + 1 for one in headings))
    definitions: list[OutlineDefinition] = []
    for position, heading in enumerate(headings):
        if not heading.title:
            continue
        begin, body = lines.starts[heading.line : heading.line + 2]
        following = (one.line for one in headings[position + 1 :] if one.depth <= heading.depth)
        end = lines.starts[next(following, lines.line_count)]
        lead = lines.starts[find_lead_line(levels, heading.line)]
        names = (heading.title,)
        definitions.append(OutlineDefinition(begin, end, lead, begin, body, "heading", names))
    return TextOutline(levels, nest_definitions(definitions))


def _find_fenced_lines(lines: SourceLines) -> bytearray:
    """Return for each line 1 if a split before it is inside of fenced code or front matter."""
    fenced = bytearray(lines.line_count)
    fence = ""
    for number, content in enumerate(lines.stripped):
        if fence:
            fenced[number] = 1
            if content.startswith(fence) and not content.strip(fence[0]):
                fence = ""
        elif number == 0 and content == _FRONT_MATTER and _FRONT_MATTER in lines.stripped[1:]:
            fence = _FRONT_MATTER
        elif match := _FENCE.match(content):
            fence = match[1]
    return fenced


def _find_markdown_headings(lines: SourceLines, fenced: bytearray) -> Iterator[_Heading]:
    stripped = lines.stripped
    for number, content in enumerate(stripped):
        is_code = fenced[number] or lines.count_indentation(number) >= _CODE_INDENTATION
        if is_code or not content:
            continue
        if match := _ATX_HEADING.match(content):
            yield _Heading(number, len(match[1]), match[2] or "")
        elif number + 1 < lines.line_count and not fenced[number + 1]:
            under = stripped[number + 1]
            starts_paragraph = not number or not stripped[number - 1]
            ruled = under and under[0] in _SETEXT_DEPTHS and not under.strip(under[0])
            if ruled and starts_paragraph and content[0] not in "-=|>*`":
                yield _Heading(number, _SETEXT_DEPTHS[under[0]], content)


def _find_rst_headings(lines: SourceLines) -> Iterator[_Heading]:
    stripped = lines.stripped
    ranks: list[str] = []
    for number in range(lines.line_count - 1):
        title, under = stripped[number], stripped[number + 1]
        match = _RST_ADORNMENT.match(under)
        if not title or not match or _RST_ADORNMENT.match(title) or len(under) < len(title):
            continue
        above = stripped[number - 1] if number else ""
        over = above == under
        if (above and not over) or lines.count_indentation(number + 1):
            continue
        style = match[1] * (2 if over else 1)
        if style not in ranks:
            ranks.append(style)
        depth = min(ranks.index(style) + 1, MAX_HEADING_DEPTH)
        yield _Heading(number - 1 if over else number, depth, title)


# A tab is taken for this many spaces.
_TAB_WIDTH = 4


def outline_plain_text(lines: SourceLines) -> TextOutline:
    """Depth by indentation: the number of less indented lines above that are still open."""
    depths = bytearray(lines.line_count)
    open_columns: list[int] = []
    depth = 0
    for number, content in enumerate(lines.stripped):
        if content:
            column = _compute_column(lines, number)
            while open_columns and open_columns[-1] >= column:
                open_columns.pop()
            depth = min(len(open_columns), MAX_DEPTH)
            open_columns.append(column)
        depths[number] = depth
    return TextOutline(compute_levels(depths, lines, ()))


def _compute_column(lines: SourceLines, number: int) -> int:
    begin = lines.starts[number]
    indentation = lines.text[begin : begin + lines.count_indentation(number)]
    return len(indentation) + indentation.count("\t") * (_TAB_WIDTH - 1)


# Larger files are data or generated; it bounds the memory of a tree and the time to walk it.
MAX_PARSED_SIZE = 1_000_000

# Smaller functions are not searched for inner definitions: that costs a fifth of the parse.
MIN_INSPECTED_BYTES = 300

_HEADING_OUTLINERS = {"markdown": outline_markdown, "rst": outline_rst}


def outline_text(lines: SourceLines, language: str, min_chunk_chars: int) -> TextOutline:
    """Return the outline of a text; no chunk will be smaller than ``min_chunk_chars``."""
    if language in _HEADING_OUTLINERS:
        return _HEADING_OUTLINERS[language](lines)
    outline = None
    if len(lines.text) <= MAX_PARSED_SIZE:
        from codekernel.chunking.outliner import outline_syntax  # noqa: PLC0415 - tree-sitter

        outline = outline_syntax(lines, language, min_chunk_chars)
    return outline or outline_plain_text(lines)
