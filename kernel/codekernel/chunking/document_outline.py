"""Outline texts without definitions.

Markdown and reStructuredText headings, Jupyter notebook cells, indentation of plain text.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from codekernel.chunking.outline import (
    MAX_DEPTH,
    OutlineDefinition,
    SourceLines,
    TextOutline,
    compute_levels,
    find_lead_line,
    nest_definitions,
)

if TYPE_CHECKING:
    from tree_sitter import Node

# Markdown has six depths of headings; text lies deeper than all of them, fenced code deeper still.
MAX_HEADING_DEPTH = 6

_ATX_HEADING = re.compile(r"(#{1,6})(?:\s+(.*?))?(?:\s+#+)?$")

_FENCE = re.compile(r"(`{3,}|~{3,})")

_SETEXT_DEPTHS = {"=": 1, "-": 2}

_RST_ADORNMENT = re.compile(r"""([=\-`:.'"~^_*+#<>])\1{2,}$""")

_FRONT_MATTER = "---"


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
    levels = compute_levels(
        depths, lines, (one.line + 1 for one in headings if one.line + 1 < lines.line_count)
    )
    definitions: list[OutlineDefinition] = []
    for position, heading in enumerate(headings):
        begin = lines.starts[heading.line]
        end = next(
            (
                lines.starts[one.line]
                for one in headings[position + 1 :]
                if one.depth <= heading.depth
            ),
            len(lines.text),
        )
        if heading.title:
            lead = lines.starts[find_lead_line(levels, heading.line)]
            body = lines.starts[heading.line + 1]
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
        if fenced[number] or not content or lines.count_indentation(number) >= 4:  # noqa: PLR2004
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


_MARKDOWN_CELL = re.compile(r'"cell_type"\s*:\s*"markdown"')

_CELLS_KEY = b'"cells"'

_CELL_HEADING = re.compile(r'"\s*#{1,6}\s+([^"\\]+)')


def outline_cells(
    outline: TextOutline, root: "Node", source: bytes, lines: SourceLines
) -> TextOutline:
    """The outline of a notebook's JSON with its cells in place of its keys.

    A cell is called by its number, under the last Markdown heading above it.
    """
    cells: list[OutlineDefinition] = []
    heading: tuple[str, ...] = ()
    for number, (first, last) in enumerate(_find_cell_rows(root, source), 1):
        begin, end = lines.starts[first], lines.starts[last]
        content = lines.text[begin:end]
        if _MARKDOWN_CELL.search(content) and (match := _CELL_HEADING.search(content)):
            heading = (match[1].strip(),)
        names = (*heading, f"cell {number}")
        cells.append(OutlineDefinition(begin, end, begin, begin, begin, "cell", names))
    return TextOutline(outline.levels, nest_definitions(cells))


def _find_cell_rows(root: "Node", source: bytes) -> list[tuple[int, int]]:
    """First row of each cell and the row after its last."""
    for pair in (pair for top in root.named_children for pair in top.named_children):
        key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
        if key is None or value is None:
            continue
        if source[key.start_byte : key.end_byte] == _CELLS_KEY:
            return [
                (cell.start_point[0], cell.end_point[0] + 1)
                for cell in value.named_children
                if cell.type == "object"
            ]
    return []


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
