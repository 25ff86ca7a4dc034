"""The text of settings.json: its encoding, its comments, and where it stops being JSON."""

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

TOO_DEEP = "expected settings, got lists or objects nested too deep"


def decode_text(content: bytes) -> str:
    """Decode UTF-8, with or without a byte order mark, and the UTF-16 of Windows Notepad.

    Raises ``UnicodeDecodeError``, a ``ValueError``, if ``content`` is neither.
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16")
    return content.decode("utf-8-sig")


def strip_comments(text: str) -> str:
    """Blank out comments and trailing commas; everything else keeps its line and column."""
    return _TOKEN.sub(lambda token: token["kept"] or re.sub(r"[^\n]", " ", token[0]), text)


def describe_syntax_error(text: str, byte: int | None) -> str:
    """Say where ``text`` stops being JSON and what was expected there.

    ``byte`` is where msgspec gave up; the standard library knows better words and places, but
    lets some mistakes pass.
    """
    place = len(text.encode()[:byte].decode(errors="ignore"))
    try:
        json.loads(text, parse_int=str, parse_float=str, parse_constant=_refuse_constant)
        problem = json.JSONDecodeError("expected strict JSON", text, place)
    except json.JSONDecodeError as error:
        problem = error
    except ValueError as error:
        problem = json.JSONDecodeError(str(error), text, place)
    except RecursionError:
        return TOO_DEEP
    expected = _EXPECTATIONS.get(problem.msg, problem.msg)
    return f"line {problem.lineno}, column {problem.colno}: {expected}"


def _refuse_constant(name: str) -> NoReturn:
    """Refuse NaN, Infinity and -Infinity, which the standard library would accept."""
    raise ValueError(f"expected a number, and JSON has no {name}")
