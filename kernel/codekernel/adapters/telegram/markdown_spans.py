"""Markdown as models write it, as spans with the few styles that Telegram knows.

Headings become bold lines, lists get bullets, tables are aligned in a block of code. What is not
understood stays as it was written; HTML is text.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from codekernel.adapters.telegram.rich_text import (
    BOLD,
    CODE,
    ITALIC,
    PRE,
    QUOTE,
    STRIKE,
    TextSpan,
    TextStyle,
)

# Emphasis is looked for in lines up to this length: the search is quadratic for hostile ones.
MAX_INLINE_CHARS = 8_000

_FENCE = re.compile(r"^\s{0,3}(?P<fence>`{3,}|~{3,})\s*(?P<info>[^`\s]*)[^`]*$")

_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(?P<text>.*?)\s*#*\s*$")

_RULE = re.compile(r"^\s{0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$")

_BULLET = re.compile(r"^(?P<indent>\s*)[-*+]\s+(?P<task>\[[ xX]\]\s+)?(?P<text>.*)$")

_QUOTE_LINE = re.compile(r"^\s{0,3}>\s?(?P<text>.*)$")

_TABLE_RULE = re.compile(r"^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")

_CELL_BREAK = re.compile(r"(?<!\\)\|")

_LANGUAGE = re.compile(r"[\w+#.-]{1,32}")

_INLINE = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<code>(?<!`)(?P<ticks>`+)(?!`)(?P<inner>.+?)(?<!`)(?P=ticks)(?!`))"
    r"|(?P<link>!?\[(?P<label>[^\[\]]{0,500})\]\((?P<url>[^()\s]{1,2000})(?:\s+\"[^\"]*\")?\))"
    r"|<(?P<auto>https?://[^<>\s]{1,2000})>"
    r"|(?P<bold>\*\*(?=\S)(?P<strong>.+?)(?<=\S)\*\*(?!\*)"
    r"|(?<!\w)__(?=\S)(?P<strong2>.+?)(?<=\S)__(?!\w))"
    r"|(?P<strike>~~(?=\S)(?P<struck>.+?)(?<=\S)~~)"
    r"|(?P<italic>(?<!\*)\*(?=[^\s*])(?P<slanted>[^*]*[^\s*])\*(?!\*)"
    r"|(?<!\w)_(?=[^\s_])(?P<slanted2>[^_]*[^\s_])_(?!\w))",
    re.DOTALL,
)

_LINK_SCHEMES = ("http://", "https://", "mailto:", "tg://")

Styles = tuple[TextStyle, ...]


def parse_markdown(text: str) -> list[TextSpan]:
    """Return the spans of a text."""
    return list(_BlockParser(text.replace("\r\n", "\n").split("\n")).parse())


class _BlockParser:
    """Parses line by line; ``_at`` is the next line."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._at = 0

    def parse(self) -> Iterator[TextSpan]:
        was_blank = True
        while self._at < len(self._lines):
            line = self._lines[self._at]
            is_blank = not line.strip()
            if is_blank:
                self._at += 1
            else:
                yield from self._parse_block(line)
            if not (is_blank and was_blank):
                yield TextSpan("\n")
            was_blank = is_blank

    def _parse_block(self, line: str) -> Iterator[TextSpan]:
        if fence := _FENCE.match(line):
            return self._parse_code(fence)
        if _QUOTE_LINE.match(line):
            return self._parse_quote()
        if self._is_table():
            return self._parse_table()
        self._at += 1
        return parse_line(line)

    def _parse_code(self, fence: re.Match[str]) -> Iterator[TextSpan]:
        mark = fence["fence"]
        self._at += 1
        begin = self._at
        while self._at < len(self._lines):
            stripped = self._lines[self._at].strip()
            if stripped.startswith(mark) and not stripped.strip(mark[0]):
                break
            self._at += 1
        code = "\n".join(self._lines[begin : self._at])
        self._at += 1
        language = _LANGUAGE.fullmatch(fence["info"])
        yield TextSpan(code or " ", (TextStyle("pre", language[0]) if language else PRE,))

    def _parse_quote(self) -> Iterator[TextSpan]:
        lines: list[str] = []
        while self._at < len(self._lines):
            quoted = _QUOTE_LINE.match(self._lines[self._at])
            if quoted is None:
                break
            lines.append(quoted["text"])
            self._at += 1
        for place, line in enumerate(lines):
            if place:
                yield TextSpan("\n", (QUOTE,))
            for span in parse_line(line):
                yield TextSpan(span.text, (QUOTE, *_keep_nestable(span.styles)))

    def _is_table(self) -> bool:
        has_next = self._at + 1 < len(self._lines)
        return (
            has_next
            and "|" in self._lines[self._at]
            and "|" in self._lines[self._at + 1]
            and _TABLE_RULE.match(self._lines[self._at + 1]) is not None
        )

    def _parse_table(self) -> Iterator[TextSpan]:
        rows = [_split_cells(self._lines[self._at])]
        self._at += 2
        while self._at < len(self._lines) and "|" in self._lines[self._at]:
            rows.append(_split_cells(self._lines[self._at]))
            self._at += 1
        yield TextSpan(_align_table(rows), (PRE,))


def parse_line(line: str) -> Iterator[TextSpan]:
    """Yield the spans of a line outside of code, quotes and tables."""
    if heading := _HEADING.match(line):
        return _parse_inline(heading["text"], (BOLD,))
    if _RULE.match(line):
        return iter((TextSpan("———"),))
    if bullet := _BULLET.match(line):
        return _parse_bullet(bullet)
    return _parse_inline(line)


def _parse_bullet(bullet: re.Match[str]) -> Iterator[TextSpan]:
    mark = "•"
    if bullet["task"]:
        mark = "☐" if bullet["task"].startswith("[ ]") else "☑"
    yield TextSpan(f"{bullet['indent']}{mark} ")
    yield from _parse_inline(bullet["text"])


def _parse_inline(text: str, styles: Styles = ()) -> Iterator[TextSpan]:
    """Yield the spans of a text without line structure."""
    if len(text) > MAX_INLINE_CHARS:
        yield TextSpan(text, styles)
        return
    done = 0
    for match in _INLINE.finditer(text):
        if match.start() > done:
            yield TextSpan(text[done : match.start()], styles)
        yield from _parse_match(match, styles)
        done = match.end()
    if done < len(text):
        yield TextSpan(text[done:], styles)


def _parse_match(match: re.Match[str], styles: Styles) -> Iterator[TextSpan]:
    match match.lastgroup:
        case "escape":
            yield TextSpan(match[0][1:], styles)
        case "code":
            yield TextSpan(match["inner"].strip(" ") or match["inner"], (CODE,))
        case "link":
            yield from _parse_link(match["label"], match["url"], styles)
        case "auto":
            yield TextSpan(match["auto"], styles)
        case "bold":
            yield from _emphasize(match["strong"] or match["strong2"], BOLD, styles)
        case "strike":
            yield from _emphasize(match["struck"], STRIKE, styles)
        case _:
            yield from _emphasize(match["slanted"] or match["slanted2"], ITALIC, styles)


def _emphasize(text: str, style: TextStyle, styles: Styles) -> Iterator[TextSpan]:
    return _parse_inline(text, styles if style in styles else (*styles, style))


def _parse_link(label: str, url: str, styles: Styles) -> Iterator[TextSpan]:
    if not url.lower().startswith(_LINK_SCHEMES):
        # A path means nothing in a chat but its own text.
        yield TextSpan(f"{label} ({url})" if label and label != url else url, styles)
    elif any(style.tag == "a" for style in styles):
        yield TextSpan(label or url, styles)
    else:
        yield from _parse_inline(label or url, (TextStyle("a", url), *styles))


def _keep_nestable(styles: Styles) -> Styles:
    """Return the styles that may stand in a quote: code and links may not."""
    return tuple(style for style in styles if style in {BOLD, ITALIC, STRIKE})


def _split_cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    cells = [cell.strip().replace("\\|", "|") for cell in _CELL_BREAK.split(inner)]
    return ["".join(span.text for span in _parse_inline(cell)) for cell in cells]


def _align_table(rows: Sequence[Sequence[str]]) -> str:
    columns = max(map(len, rows))
    padded = [[*row, *[""] * (columns - len(row))] for row in rows]
    widths = [max(_measure_width(row[column]) for row in padded) for column in range(columns)]
    lines = [
        "  ".join(
            cell + " " * (width - _measure_width(cell))
            for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in padded
    ]
    return "\n".join([lines[0], "  ".join("─" * width for width in widths), *lines[1:]])


def _measure_width(text: str) -> int:
    """Return the columns that a text takes in a fixed-width font."""
    return sum(1 + (unicodedata.east_asian_width(character) in "WF") for character in text)
