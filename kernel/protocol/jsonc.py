"""JSON as people write it: with comments, trailing commas, Windows encodings and mistakes.

Knows text only; what the JSON means is for the file that decodes it.
"""

import codecs
import json
import re
from typing import NoReturn

# Every repetition is possessive, and an unclosed string or comment is taken whole: however hostile
# the text, no character is looked at more than a few times.
_COMMENT = r"//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/"
_GAP = rf"(?:[ \t\r\n]++|{_COMMENT})*+"
_TOKEN = re.compile(
    r'(?P<kept>"(?:[^"\\\n]++|\\.)*+"?'
    r"|/\*(?:[^*]++|\*(?!/))*+\Z"  # never closed: left in place, for the error to point at
    rf"|[\[{{]{_GAP},)"  # nothing before the comma: a mistake, not a trailing comma
    rf"|{_COMMENT}"
    rf"|,(?={_GAP}[\]}}])"
)

_EXPECTATIONS = {
    "Expecting value": "expected a value",
    "Expecting property name enclosed in double quotes": "expected a key in double quotes",
    "Expecting ',' delimiter": "expected a comma or a closing bracket",
    "Expecting ':' delimiter": "expected a colon",
    "Extra data": "expected the end of the file",
    "Unterminated string starting at": "expected a closing quote for the text that starts here",
    "Invalid control character at": "expected an escape such as \\n or \\t",
    "Invalid \\escape": "expected a valid escape after the backslash; write \\\\ for a backslash",
}


def text_of(content: bytes) -> str:
    """Decode UTF-8, with or without a byte order mark, and the UTF-16 of Windows Notepad.

    Raises ``UnicodeDecodeError``, a ``ValueError``, if ``content`` is neither.
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16")
    return content.decode("utf-8-sig")


def strip(text: str) -> str:
    """Blank out comments and trailing commas; everything else keeps its line and column."""
    return _TOKEN.sub(_blanked, text)


def syntax_problem(text: str, byte: int | None) -> str:
    """Say where ``text`` stops being JSON and what was expected there.

    ``byte`` is where msgspec gave up; the standard library knows better words and places, but
    lets some mistakes pass.
    """
    try:
        json.loads(text, parse_int=str, parse_float=str, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        expected = _EXPECTATIONS.get(error.msg, error.msg)
        return f"line {error.lineno}, column {error.colno}: {expected}"
    except _NotANumberError as error:
        return f"{_place(text, byte)}: expected a number, and JSON has no {error}"
    return f"{_place(text, byte)}: expected strict JSON"


class _NotANumberError(Exception):
    """NaN, Infinity or -Infinity, which the standard library would accept."""


def _refuse_constant(name: str) -> NoReturn:
    raise _NotANumberError(name)


def _place(text: str, byte: int | None) -> str:
    before = text.encode()[:byte].decode(errors="ignore")
    line = before.count("\n") + 1
    column = len(before) - before.rfind("\n")
    return f"line {line}, column {column}"


def _blanked(token: re.Match[str]) -> str:
    kept: str | None = token["kept"]
    if kept is not None:
        return kept
    return "\n".join(" " * len(line) for line in token[0].split("\n"))
