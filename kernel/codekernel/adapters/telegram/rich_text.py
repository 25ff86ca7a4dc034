"""Formatted text as Telegram knows it: spans with styles, pages within its limits, HTML.

Telegram counts a message in UTF-16 units after it has parsed the entities, and keeps the first
hundred entities of a message.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import takewhile
from typing import Final

from codekernel.domain.untrusted_text import escape_text

MAX_MESSAGE_UNITS: Final = 4096

MAX_ENTITIES: Final = 100

# A page ends at a better place if that leaves it at least so full.
_MIN_FILL = 0.6

# Joiners and marks that belong to the character before them, and an emoji's second half.
_JOINED = frozenset("\u200d\ufe0e\ufe0f\u20e3") | {chr(code) for code in range(0x1F3FB, 0x1F400)}

_ZERO_WIDTH_JOINER = "\u200d"

_LAST_BMP_CODE = 0xFFFF


@dataclass(frozen=True, slots=True)
class TextStyle:
    """An entity; ``value`` is the address of a link, or the language of a block of code."""

    tag: str
    value: str = ""

    @property
    def opening(self) -> str:
        """The HTML before the text."""
        if self.tag == "a":
            return f'<a href="{escape(self.value)}">'
        if self.tag == "pre" and self.value:
            return f'<pre><code class="language-{escape(self.value)}">'
        return "<blockquote expandable>" if self == FOLDED_QUOTE else f"<{self.tag}>"

    @property
    def closing(self) -> str:
        """The HTML after the text."""
        return "</code></pre>" if self.tag == "pre" and self.value else f"</{self.tag}>"


BOLD, ITALIC, STRIKE = TextStyle("b"), TextStyle("i"), TextStyle("s")
CODE, PRE = TextStyle("code"), TextStyle("pre")
QUOTE, FOLDED_QUOTE = TextStyle("blockquote"), TextStyle("blockquote", "expandable")

_BLOCK_TAGS = frozenset({"pre", "blockquote"})


@dataclass(frozen=True, slots=True)
class TextSpan:
    """Text with its styles, the outermost first."""

    text: str
    styles: tuple[TextStyle, ...] = ()


def count_units(text: str) -> int:
    """Return the length in UTF-16 units."""
    return len(text) + sum(character > "\uffff" for character in text)


def cut_to_units(text: str, limit: int) -> str:
    """Return the beginning of a text that has at most so many units, between two characters."""
    if len(text) <= limit and count_units(text) <= limit:
        return text
    end = units = 0
    for character in text:
        units += 1 + (ord(character) > _LAST_BMP_CODE)
        if units > limit:
            break
        end += 1
    return text[: _leave_character_whole(text, end)]


def clean_spans(spans: Iterable[TextSpan]) -> list[TextSpan]:
    """Escape what Telegram would refuse or hide: control characters and lone surrogates."""
    cleaned = (replace(span, text=escape_text(span.text.replace("\r\n", "\n"))) for span in spans)
    return [span for span in cleaned if span.text]


def split_pages(spans: Sequence[TextSpan]) -> list[list[TextSpan]]:
    """Split into pages that fit a message; an entity that goes on is closed and opened again.

    The beginning decides alone where a page ends: what is added later changes only the last page.
    """
    pages: list[list[TextSpan]] = []
    rest = _trim(spans)
    while rest:
        size = _measure_page(rest)
        page, rest = _cut_spans(rest, size)
        pages.append(_trim(page))
        rest = _trim(rest)
    return [page for page in pages if page]


def format_html(spans: Iterable[TextSpan]) -> str:
    """Return the HTML of a page."""
    parts: list[str] = []
    open_styles: tuple[TextStyle, ...] = ()
    for span in spans:
        kept = _count_common(open_styles, span.styles)
        parts += [style.closing for style in reversed(open_styles[kept:])]
        parts += [style.opening for style in span.styles[kept:]]
        parts.append(escape(span.text, quote=False))
        open_styles = span.styles
    parts += [style.closing for style in reversed(open_styles)]
    return "".join(parts)


def _count_common(one: Sequence[TextStyle], other: Sequence[TextStyle]) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _measure_page(spans: Sequence[TextSpan]) -> int:
    """Return how many characters go on the next page."""
    end, is_whole = _measure_limits(spans)
    if is_whole:
        return end
    text = "".join(span.text for span in _cut_spans(spans, end + 1)[0])
    end = _leave_character_whole(text, end)
    floor = int(end * _MIN_FILL)
    for place in _list_good_ends(spans, text, end):
        if place > floor:
            return place
    return max(end, 1)


def _measure_limits(spans: Sequence[TextSpan]) -> tuple[int, bool]:
    """Return how many characters fit at the most, and whether that is all of them."""
    end = units = entities = 0
    open_styles: tuple[TextStyle, ...] = ()
    for span in spans:
        entities += len(span.styles) - _count_common(open_styles, span.styles)
        open_styles = span.styles
        if entities > MAX_ENTITIES:
            return end, False
        fitting = cut_to_units(span.text, MAX_MESSAGE_UNITS - units)
        end += len(fitting)
        units += count_units(fitting)
        if len(fitting) < len(span.text):
            return end, False
    return end, True


def _list_good_ends(spans: Sequence[TextSpan], text: str, end: int) -> Iterator[int]:
    """Yield places to end a page at, the best first: paragraph, line, word."""
    is_free, is_inline = _mark_styles(spans, end)
    for separator, allowed in (
        ("\n\n", is_free),
        ("\n", is_free),
        ("\n", is_inline),
        (" ", is_free),
        (" ", is_inline),
    ):
        place = text.rfind(separator, 0, end + 1)
        while place > 0 and not allowed[min(place, end - 1)]:
            place = text.rfind(separator, 0, place)
        if place > 0:
            yield place


def _mark_styles(spans: Sequence[TextSpan], end: int) -> tuple[bytearray, bytearray]:
    """Return for each character whether it has no style, and whether only that of a block."""
    is_free, is_inline = bytearray(), bytearray()
    for span in spans:
        if len(is_free) >= end:
            break
        in_block = all(style.tag in _BLOCK_TAGS for style in span.styles)
        is_free += bytes([not span.styles]) * len(span.text)
        is_inline += bytes([in_block]) * len(span.text)
    return is_free, is_inline


def _leave_character_whole(text: str, end: int) -> int:
    """Move the end of a page before a character that is made of several."""
    begin = end
    while 0 < end < len(text) and (text[end] in _JOINED or text[end - 1] == _ZERO_WIDTH_JOINER):
        end -= 1
    return end or begin


def _cut_spans(spans: Sequence[TextSpan], size: int) -> tuple[list[TextSpan], list[TextSpan]]:
    """Return the spans of the first characters, and the others."""
    head: list[TextSpan] = []
    for place, span in enumerate(spans):
        if len(span.text) > size:
            parts = [replace(span, text=span.text[:size])] if size else []
            rest = replace(span, text=span.text[size:])
            return head + parts, [rest, *spans[place + 1 :]]
        head.append(span)
        size -= len(span.text)
    return head, []


def _trim(spans: Sequence[TextSpan]) -> list[TextSpan]:
    """Remove blank lines at the beginning and white space at the end, as Telegram does."""
    trimmed = list(spans)
    while trimmed and not trimmed[0].text.strip():
        del trimmed[0]
    while trimmed and not trimmed[-1].text.strip():
        del trimmed[-1]
    if trimmed:
        in_pre = trimmed[0].styles[:1] and trimmed[0].styles[0].tag == "pre"
        first = trimmed[0].text.lstrip("\n") if in_pre else trimmed[0].text.lstrip()
        trimmed[0] = replace(trimmed[0], text=first)
        trimmed[-1] = replace(trimmed[-1], text=trimmed[-1].text.rstrip())
    return trimmed
