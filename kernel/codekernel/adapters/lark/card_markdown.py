"""Text of an agent as Markdown of a card: tags made harmless, sizes as they are sent, splitting.

A card travels as JSON inside of JSON, so that a quotation mark costs four bytes. Sizes are those
of the request, in UTF-8.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

# The language of a code block that is split is repeated up to this length.
MAX_FENCE_INFO_CHARS = 20

# Room for closing a code block at the end of a piece, and opening it again in the next one.
FENCE_RESERVE_BYTES = 80

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")

_INLINE_CODE = re.compile(r"(?<![`\\])(`+)(?!`)(.+?)(?<!`)\1(?!`)")

_QUOTE_MARKER = re.compile(r"(?:\s{0,3}> ?)+")

_TABLE_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+\|?\s*|\s*\|\s*:?-+:?\s*\|\s*")

# Of a picture only its address is known, and the platform refuses a card with an unknown picture.
_PICTURE = re.compile(r"!(?=\[[^\]\n]*\]\()")

# A mention inside of code would still be one to a client that reads tags first.
_MENTION = re.compile(r"<(?=/?at\b)", re.IGNORECASE)

_LONG_BACKTICK_RUN = re.compile(r"`{10,}")

_ENTITY_START = re.compile(r"&(?:#\d{0,3})?\Z")


def measure_text(text: str) -> int:
    """Return the bytes of a text inside of a card inside of a request."""
    return len(_dump(_dump(text)).encode()) - len(_dump(_dump("")))


def measure_element(element: object) -> int:
    """Return the bytes of an element of a card, and of the comma before the next one."""
    return len(_dump(_dump(element)).encode()) - 1


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def make_encodable(text: str) -> str:
    """Return a text whose halves of surrogate pairs are replaced: UTF-8 has none."""
    return text.encode("utf-8", "replace").decode()


def escape_tags(text: str) -> str:
    """Return Markdown in which no tag and no picture of the platform acts; code stays code."""
    fence = ""
    lines = []
    for line in make_encodable(text).split("\n"):
        marker = _FENCE.match(line)
        if fence:
            if marker and marker[1].startswith(fence) and not marker[2].strip():
                fence = ""
            lines.append(_defuse_mentions(line))
        elif marker and not (marker[1][0] == "`" and "`" in marker[2]):
            fence = marker[1]
            lines.append(_defuse_mentions(line))
        else:
            lines.append(_escape_line(line))
    return "\n".join(lines)


def _escape_line(line: str) -> str:
    quote = _QUOTE_MARKER.match(line)
    begin = quote.end() if quote else 0
    parts = [line[:begin]]
    for code in _INLINE_CODE.finditer(line, begin):
        parts += (_escape_words(line[begin : code.start()]), _defuse_mentions(code[0]))
        begin = code.end()
    parts.append(_escape_words(line[begin:]))
    return "".join(parts)


def _escape_words(text: str) -> str:
    return _PICTURE.sub("", text).replace("<", "&#60;").replace(">", "&#62;")


def _defuse_mentions(code: str) -> str:
    return _MENTION.sub("<\u200b", code)


def format_inline_code(text: str) -> str:
    """Return one line of code; backticks cannot end it."""
    line = " ".join(make_encodable(text).split()).replace("`", "'")
    return f"`{_defuse_mentions(line)}`" if line else ""


def format_code_block(text: str, language: str) -> str:
    """Return a code block whose fence is longer than any in the text."""
    text = _LONG_BACKTICK_RUN.sub(lambda run: "'" * len(run[0]), make_encodable(text))
    runs = re.findall(r"`{3,}", text)
    fence = "`" * (len(max(runs, key=len)) + 1 if runs else 3)
    return f"{fence}{language}\n{_defuse_mentions(text)}\n{fence}"


def truncate_middle(text: str, max_bytes: int) -> str:
    """Return the beginning and the end of a text that is too long, and how much is left out."""
    text = make_encodable(text)
    if len(text) <= max_bytes and measure_text(text) <= max_bytes:
        return text
    head = text[: _fit(max_bytes * 2 // 3, max_bytes, lambda size: text[:size])]
    end = _fit(max_bytes // 4, max_bytes, lambda size: text[-size:] if size else "")
    tail = text[-end:] if end else ""
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n… {left_out:,} characters left out …\n{tail}"


def _fit(max_bytes: int, largest: int, cut: Callable[[int], str]) -> int:
    """Return the largest size whose ``cut`` is within the bytes."""
    low, high = 0, largest
    while low < high:
        middle = (low + high + 1) // 2
        if measure_text(cut(middle)) <= max_bytes:
            low = middle
        else:
            high = middle - 1
    return low


@dataclass(frozen=True, slots=True)
class _Line:
    """A line, the fence that it is in, and whether a table begins with it."""

    begin: int
    fence: str
    info: str
    is_table: bool


def _scan_lines(text: str) -> Iterator[_Line]:
    fence = info = ""
    begin, lines = 0, text.split("\n")
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        is_table = not fence and "|" in line and _TABLE_RULE.fullmatch(below) is not None
        yield _Line(begin, fence, info, is_table)
        marker = _FENCE.match(line)
        if marker and not fence:
            fence, info = marker[1], marker[2].strip()[:MAX_FENCE_INFO_CHARS]
        elif marker and marker[1].startswith(fence) and not marker[2].strip():
            fence = info = ""
        begin += len(line) + 1


def count_tables(text: str) -> int:
    """Return how many tables a text has; the platform limits them."""
    return sum(line.is_table for line in _scan_lines(text)) if "|" in text else 0


def take_piece(text: str, max_bytes: int, max_tables: int) -> tuple[str, str]:
    """Split off a beginning that fits, at a paragraph or line if possible; return it and the rest.

    A code block that is cut is closed and opened again. The piece is empty if nothing fits.
    """
    is_short = len(text) <= max_bytes and measure_text(text) <= max_bytes
    if is_short and count_tables(text) <= max_tables:
        return text, ""
    size = len(text)
    if not is_short:
        room = max_bytes - FENCE_RESERVE_BYTES
        size = _fit(room, min(len(text), max(room, 0)), lambda end: text[:end])
    window = text[: size + 1]
    tables = [line.begin for line in _scan_lines(window) if line.is_table]
    if len(tables) > max_tables:
        size = tables[max_tables]
        cut = size
    else:
        cut = _choose_cut(text, size)
    if cut <= 0:
        return "", text
    piece, rest = text[:cut].rstrip("\n"), text[cut:].lstrip("\n")
    last = list(_scan_lines(f"{piece}\n"))[-1]
    if last.fence:
        return f"{piece}\n{last.fence}", f"{last.fence}{last.info}\n{rest}"
    return piece, rest


def _choose_cut(text: str, size: int) -> int:
    for separator in ("\n\n", "\n", " "):
        cut = text.rfind(separator, size // 2, size)
        if cut > 0:
            return cut
    split_entity = _ENTITY_START.search(text[:size])
    return split_entity.start() if split_entity and size < len(text) else size
