r"""Paths as people, pages, programs and models get them, and give them back.

A file name is bytes, and not all bytes are text: in Python such a byte is half of a surrogate pair,
which neither a terminal nor UTF-8 can hold. It is shown as ``\xe9``; a backslash that already
stands before such letters is shown as ``\x5c``, so every path can be read back.
"""

import os
import re
from pathlib import Path

from kernel.domain.terminal_text import escape_line

_BACKSLASH = "\\x5c"
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")
# A backslash that would be taken for the beginning of an escape, and what is no character.
_TO_ESCAPE = re.compile(r"\\(?=x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})|[\ud800-\udfff]")
_C1 = re.compile("[\x80-\x9f]")
_FIRST_BYTE, _LAST_BYTE = 0xDC80, 0xDCFF  # of those that are no text, as os.fsdecode has them
_FIRST_UNDECODABLE = 0x80
_LAST_CHARACTER = 0x10FFFF


def encode_path(path: str) -> str:
    """The path with everything spelt out that is no text; most paths stay as they are."""
    if path.isascii() and "\\" not in path:
        return path
    return _TO_ESCAPE.sub(_spell, path)


def terminal_path(path: str) -> str:
    """The same for a terminal, which no control character reaches; it is read back as well."""
    encoded = _C1.sub(lambda found: f"\\u{ord(found.group()):04x}", encode_path(path))
    return escape_line(encoded)


def decode_path(text: str) -> str:
    """The path that was encoded."""
    return _ESCAPE.sub(_read, text) if "\\" in text else text


def existing_path(folder: str | Path, text: str) -> str:
    """The path that ``text`` means in ``folder``: decoded if that is there, else as it stands."""
    decoded = decode_path(text)
    if decoded == text or "\0" in decoded:
        return text
    try:
        is_there = os.path.lexists(os.path.join(folder, decoded))  # noqa: PTH118 - texts
    except (OSError, ValueError):
        return text
    return decoded if is_there else text


def _spell(found: re.Match[str]) -> str:
    code = ord(found.group())
    if found.group() == "\\":
        return _BACKSLASH
    return f"\\x{code - 0xDC00:02x}" if _FIRST_BYTE <= code <= _LAST_BYTE else f"\\u{code:04x}"


def _read(found: re.Match[str]) -> str:
    if found[1]:
        code = int(found[1], 16)
        return chr(code if code < _FIRST_UNDECODABLE else code + 0xDC00)
    code = int(found[2] or found[3], 16)
    return chr(code) if code <= _LAST_CHARACTER else found.group()
