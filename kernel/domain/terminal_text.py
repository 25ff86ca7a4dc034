"""Escaping of text that came from elsewhere, for terminals and for lines of JSON.

File names, repository names, file contents, commit messages, model output and error messages may
hold control sequences. What is unsafe is decided here and nowhere else.
"""

import re
from functools import cache

# Control characters of both sets, lone surrogates, and those that turn the direction of text or
# break lines: a file must not be able to give orders to a terminal, or to look like another.
_UNSAFE_CLASS = (
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff"
    "\ud800-\udfff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
# What our own screens write: colours, the line that progress redraws, links to files.
_OWN_CODES = r"\x1b\[[0-9;]{0,16}m|\r\x1b\[K|\x1b\]8;;(?:file:///[!-~]*)?\x1b\\"
_NOT_ASCII = re.compile("[^\n\t\r -~]")
_ONE_BYTE, _TWO_BYTES = 0xFF, 0xFFFF


def escape_line(text: str) -> str:
    """The text on one line, with everything that could command a terminal spelt out."""
    return text if text.isprintable() else _unsafe("").sub(_spell, text)


def escape_text(text: str) -> str:
    """The same, but line ends and tabs stay."""
    return text if text.isprintable() else _unsafe(r"\n\t").sub(_spell, text)


def escape_text_but_bytes(text: str) -> str:
    """The same for a pipe, where bytes of a file name that are no text go out as they are."""
    return _unsafe(r"\n\t\udc80-\udcff").sub(_spell, text)


def escape_all_but_own_codes(text: str) -> str:
    """The same for text in which colours, links and a redrawn line of ours may stand."""
    return text if text.isprintable() else _own_or_unsafe().sub(_spell_unless_own, text)


def escape_json(document: str) -> str:
    """A JSON document in ASCII; what stood in its strings is the same once it is parsed."""
    return _NOT_ASCII.sub(_spell_as_json, document)


def escape_controls_in_json(document: str) -> str:
    """The same, but only what is unsafe: for formats whose documents show other characters."""
    return _unsafe(r"\n\t").sub(_spell_as_json, document)


@cache  # half a millisecond each, when there is something to escape
def _unsafe(but: str) -> re.Pattern[str]:
    return re.compile(f"(?![{but}]){_UNSAFE_CLASS}" if but else _UNSAFE_CLASS)


@cache
def _own_or_unsafe() -> re.Pattern[str]:
    return re.compile(rf"({_OWN_CODES})|(?![\n\t]){_UNSAFE_CLASS}")


def _spell(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code <= _ONE_BYTE:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= _TWO_BYTES else f"\\U{code:08x}"


def _spell_unless_own(found: re.Match[str]) -> str:
    return found[1] or _spell(found)


def _spell_as_json(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code <= _TWO_BYTES:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 | code >> 10:04x}\\u{0xDC00 | code & 0x3FF:04x}"
