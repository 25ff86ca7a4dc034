"""Text from outside: JSON parsed with a depth limit, and fields of protobuf messages.

Control characters escaped for terminals and JSON lines, and paths with undecodable bytes
encoded so that they can be read back.
"""

import json
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

# Settings and messages have 6, JSON schemas and notebooks some dozens; Python's limit is 1,000.
MAX_JSON_DEPTH = 200

_CONTAINERS = (dict, list)


class JsonTooDeepError(ValueError):
    """Lists and objects nested deeper than in any real document."""

    def __init__(self) -> None:
        super().__init__(f"nested too deeply: more than {MAX_JSON_DEPTH} lists or objects")


def parse_json(text: str | bytes, **options: Any) -> Any:
    """Parse like ``json.loads``. Raises ValueError, and nothing else, for whatever is no JSON."""
    try:
        value = json.loads(text, **options)
    except RecursionError:
        raise JsonTooDeepError from None
    check_json_depth(value)
    return value


def check_json_depth(value: object) -> None:
    """Raise JsonTooDeepError for a parsed value that has more than MAX_JSON_DEPTH levels.

    Level by level, without recursion; about a microsecond for a message without lists in it.
    """
    level: list[Any] = [value] if type(value) in _CONTAINERS else []
    for _ in range(MAX_JSON_DEPTH):
        inner: list[Any] = []
        for outer in level:
            for each in outer.values() if type(outer) is dict else outer:
                if type(each) in _CONTAINERS:
                    inner.append(each)  # noqa: PERF401 - twice as fast as a comprehension of two
        if not inner:
            return
        level = inner
    raise JsonTooDeepError


_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

_WIDTHS = {_FIXED64: 8, _FIXED32: 4}

_MAX_VARINT_BYTES = 10  # bytes; a negative number takes them all

_MORE_FOLLOWS = 0x80  # the high bit of all bytes of a varint but the last


class InvalidProtobuf(ValueError):
    """Bytes that are no message; the text, if any, continues after the name of the file."""


def read_protobuf_fields(content: Any) -> Iterator[tuple[int, Any]]:
    """Yield the number and the value of each field of a protobuf message. Raises InvalidProtobuf.

    Values are numbers, or bytes also where the message has a fixed width.
    """
    at = 0
    while at < len(content):
        key, at = _read_varint(content, at)
        wire = key & 7
        if wire == _VARINT:
            value, at = _read_varint(content, at)
            yield key >> 3, value
            continue
        if wire == _BYTES:
            width, at = _read_varint(content, at)
        elif wire in _WIDTHS:
            width = _WIDTHS[wire]
        else:
            raise InvalidProtobuf("")
        if at + width > len(content):
            raise InvalidProtobuf("is cut short or damaged")
        yield key >> 3, content[at : at + width]
        at += width


def _read_varint(content: bytes, at: int) -> tuple[int, int]:
    if at < len(content) and content[at] < _MORE_FOLLOWS:  # most: a million in a large model
        return content[at], at + 1
    value = 0
    for i, byte in enumerate(content[at : at + _MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << 7 * i
        if byte < _MORE_FOLLOWS:
            return value, at + i + 1
    raise InvalidProtobuf("is cut short or damaged")


# Control characters of both sets, lone surrogates, and those that turn the direction of text or
# break lines: a file name must not control a terminal or look like another.
_UNSAFE_CLASS = (
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff"
    "\ud800-\udfff\ufff9-\ufffb\U000e0000-\U000e007f]"
)

# What our own screens write: colours, the line that progress redraws, links to files.
_ANSI_CODES = r"\x1b\[[0-9;]{0,16}m|\r\x1b\[K|\x1b\]8;;(?:file:///[!-~]*)?\x1b\\"

_NOT_ASCII = re.compile("[^\n\t\r -~]")

_HTML_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"}
)


def escape_line(text: str) -> str:
    """Return the text on one line, with control characters escaped."""
    return text if text.isprintable() else _compile_unsafe("").sub(_escape_char, text)


def escape_text(text: str) -> str:
    """Escape control characters, but keep line ends and tabs."""
    return text if text.isprintable() else _compile_unsafe(r"\n\t").sub(_escape_char, text)


def escape_text_keep_bytes(text: str) -> str:
    """Escape for a pipe: undecodable bytes of file names stay as they are."""
    return _compile_unsafe(r"\n\t\udc80-\udcff").sub(_escape_char, text)


def escape_text_keep_ansi(text: str) -> str:
    """Escape text that may contain our own colours, links and redrawn lines."""
    return text if text.isprintable() else _compile_ansi_or_unsafe().sub(_escape_unless_ansi, text)


def escape_html(text: str) -> str:
    """Return a text as HTML, also for an attribute in quotes.

    As ``html.escape`` does, whose module brings a table of all entities: half a megabyte.
    """
    return text.translate(_HTML_ESCAPES)


def escape_json(document: str) -> str:
    """Return a JSON document in ASCII, equal after parsing."""
    return _NOT_ASCII.sub(_escape_char_as_json, document)


def escape_controls_in_json(document: str) -> str:
    """Escape only unsafe characters of a JSON document."""
    return _compile_unsafe(r"\n\t").sub(_escape_char_as_json, document)


@cache  # half a millisecond each, when there is something to escape
def _compile_unsafe(but: str) -> re.Pattern[str]:
    return re.compile(f"(?![{but}]){_UNSAFE_CLASS}" if but else _UNSAFE_CLASS)


@cache
def _compile_ansi_or_unsafe() -> re.Pattern[str]:
    return re.compile(rf"({_ANSI_CODES})|(?![\n\t]){_UNSAFE_CLASS}")


def _escape_char(found: re.Match[str]) -> str:
    escaped = found.group().encode("ascii", "backslashreplace").decode()
    return escaped if len(escaped) > 1 else f"\\x{ord(escaped):02x}"


def _escape_unless_ansi(found: re.Match[str]) -> str:
    return found[1] or _escape_char(found)


def _escape_char_as_json(found: re.Match[str]) -> str:
    units = found.group().encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


_PATH_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")

# A backslash that would be taken for the beginning of an escape, and what is no character.
_PATH_UNSAFE = re.compile(r"\\(?=x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})|[\ud800-\udfff]")

_C1 = re.compile("[\x80-\x9f]")

_FIRST_BYTE, _LAST_BYTE = 0xDC80, 0xDCFF  # of those that are no text, as os.fsdecode has them

_FIRST_UNDECODABLE = 0x80

_LAST_CHARACTER = 0x10FFFF


def encode_path(path: str) -> str:
    """Return the path with undecodable bytes escaped; most paths stay as they are."""
    if path.isascii() and "\\" not in path:
        return path
    return _PATH_UNSAFE.sub(_encode_char, path)


def escape_path_for_terminal(path: str) -> str:
    """Escape a path for a terminal, also its control characters; decode_path reads it back."""
    encoded = _C1.sub(lambda found: f"\\u{ord(found.group()):04x}", encode_path(path))
    return escape_line(encoded)


def decode_path(text: str) -> str:
    """Return the path that was encoded."""
    return _PATH_ESCAPE.sub(_decode_escape, text) if "\\" in text else text


def resolve_encoded_path(folder: str | Path, text: str) -> str:
    """Return the path that ``text`` means in ``folder``: decoded if that exists, else unchanged."""
    decoded = decode_path(text)
    is_there = decoded != text and os.path.lexists(os.path.join(folder, decoded))
    return decoded if is_there else text


_FILE_SCHEME = "file://"

_WINDOWS_DRIVE = re.compile(r"/[A-Za-z]:")


def strip_scheme(text: str) -> str:
    """Return a path without ``file://``."""
    text = text.strip()
    if not text.startswith(_FILE_SCHEME):
        return text
    path = unquote(text.removeprefix(_FILE_SCHEME))
    return path[1:] if _WINDOWS_DRIVE.match(path) else path


def _encode_char(found: re.Match[str]) -> str:
    code = ord(found.group())
    if found.group() == "\\":
        return "\\x5c"
    return f"\\x{code - 0xDC00:02x}" if _FIRST_BYTE <= code <= _LAST_BYTE else f"\\u{code:04x}"


def _decode_escape(found: re.Match[str]) -> str:
    if found[1]:
        code = int(found[1], 16)
        return chr(code if code < _FIRST_UNDECODABLE else code + 0xDC00)
    code = int(found[2] or found[3], 16)
    return chr(code) if code <= _LAST_CHARACTER else found.group()
