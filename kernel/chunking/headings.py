"""Markdown and reStructuredText: sections under their headings, fenced code left whole."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from kernel.chunking.outline import Definition, Outline, lead_line, nest, shade
from kernel.chunking.source_lines import SourceLines

# Markdown has six depths of headings; text lies deeper than all of them, fenced code deeper still.
DEEPEST_HEADING = 6
_ATX = re.compile(r"(#{1,6})(?:\s+(.*?))?(?:\s+#+)?$")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_SETEXT = {"=": 1, "-": 2}
_ADORNMENT = re.compile(r"""([=\-`:.'"~^_*+#<>])\1{2,}$""")
_FRONT_MATTER = "---"


class _Heading(NamedTuple):
    line: int
    depth: int
    title: str


def markdown_outline(lines: SourceLines) -> Outline:
    """Sections of a Markdown text."""
    fenced = _fenced(lines)
    return _outline(lines, list(_markdown_headings(lines, fenced)), fenced)


def rst_outline(lines: SourceLines) -> Outline:
    """Sections of a reStructuredText; adornments rank in the order in which they first appear."""
    return _outline(lines, list(_rst_headings(lines)), bytearray(lines.count))


def _outline(lines: SourceLines, headings: list[_Heading], fenced: bytearray) -> Outline:
    depths = bytearray(DEEPEST_HEADING + inside for inside in fenced)
    for heading in headings:
        depths[heading.line] = heading.depth - 1
    levels = shade(depths, lines, (one.line + 1 for one in headings if one.line + 1 < lines.count))
    definitions: list[Definition] = []
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
            lead = lines.starts[lead_line(levels, heading.line)]
            body = lines.starts[heading.line + 1]
            names = (heading.title,)
            definitions.append(Definition(begin, end, lead, begin, body, "heading", names))
    return Outline(levels, nest(definitions))


def _fenced(lines: SourceLines) -> bytearray:
    """For each line, 1 if a cut before it would be inside of fenced code or front matter."""
    fenced = bytearray(lines.count)
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


def _markdown_headings(lines: SourceLines, fenced: bytearray) -> Iterator[_Heading]:
    stripped = lines.stripped
    for number, content in enumerate(stripped):
        if fenced[number] or not content or lines.indentation(number) >= 4:  # noqa: PLR2004
            continue
        if match := _ATX.match(content):
            yield _Heading(number, len(match[1]), match[2] or "")
        elif number + 1 < lines.count and not fenced[number + 1]:
            under = stripped[number + 1]
            starts_paragraph = not number or not stripped[number - 1]
            ruled = under and under[0] in _SETEXT and not under.strip(under[0])
            if ruled and starts_paragraph and content[0] not in "-=|>*`":
                yield _Heading(number, _SETEXT[under[0]], content)


def _rst_headings(lines: SourceLines) -> Iterator[_Heading]:
    stripped = lines.stripped
    ranks: list[str] = []
    for number in range(lines.count - 1):
        title, under = stripped[number], stripped[number + 1]
        match = _ADORNMENT.match(under)
        if not title or not match or _ADORNMENT.match(title) or len(under) < len(title):
            continue
        above = stripped[number - 1] if number else ""
        over = above == under
        if (above and not over) or lines.indentation(number + 1):
            continue
        style = match[1] * (2 if over else 1)
        if style not in ranks:
            ranks.append(style)
        depth = min(ranks.index(style) + 1, DEEPEST_HEADING)
        yield _Heading(number - 1 if over else number, depth, title)
