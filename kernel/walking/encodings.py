"""Bytes to text: which encoding a file is in, found without being told.

Recognised: UTF-8, UTF-16 with and without a mark, UTF-32 with one, GB18030 (so GBK, GB2312), Big5,
Shift-JIS, EUC-JP, EUC-KR, and Windows-1252 or Latin-1 for what is left. Not recognised: traditional
characters in GBK, and one-byte encodings of other scripts (Cyrillic, Greek, ...), whose words come
out as accented letters while the code around them stays searchable.
"""

import codecs
import unicodedata
from dataclasses import dataclass

from kernel.walking.encodings_east_asian import east_asian

# As git: a NUL among the first 8000 bytes makes a file binary, if it is no UTF-16.
HEAD_BYTES = 8_000
# The mark of UTF-32 begins with that of UTF-16, and so comes first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# UTF-8 with a few bytes of something else in it: these become U+FFFD, the rest stays readable.
DAMAGED_UTF_8 = "utf-8-damaged"
_GOOD_PER_BAD = 10
# Of UTF-16, a few characters have their NUL on the other side: U+3000 and U+4E00 are frequent.
_NULS_ON_ONE_SIDE = 2
# A NUL or two may stray into a short file of another encoding.
_FEWEST_NULS = 4
# Of the characters of a text, how many may be ones that texts do not have.
_ODD_SHARE = 0.01
_ODD_CATEGORIES = {"Cc", "Cn", "Co", "Cs"}
_USUAL_CONTROLS = frozenset("\t\n\r\f\v\b\x1b\x1a")
_ODD_BYTES = bytes({*range(0x20), 0x7F} - {ord(usual) for usual in _USUAL_CONTROLS})


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text and the Python name of its encoding, but for damaged UTF-8."""

    text: str
    encoding: str


def decode(data: bytes) -> Decoded | None:
    """The text without its byte order mark, every other character kept; None if it is no text."""
    for mark, encoding in _MARKS:
        if data.startswith(mark) and (text := _strictly(data, encoding)) is not None:
            return Decoded(text, encoding)
    if looks_binary(data):
        return _unmarked_utf_16(data)
    text = _strictly(data, "utf-8")
    if text is not None:
        return Decoded(text, "utf-8")
    return _damaged_utf_8(data) or _legacy(data)


def looks_binary(data: bytes) -> bool:
    """Whether there is a NUL at the head, as in no text but UTF-16 and UTF-32."""
    return b"\0" in data[:HEAD_BYTES]


def _strictly(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _unmarked_utf_16(data: bytes) -> Decoded | None:
    """ASCII has its NULs on one side, which tells the byte order."""
    head = data[:HEAD_BYTES]
    for encoding, with_nuls, without in (
        ("utf-16-le", head[1::2], head[0::2]),
        ("utf-16-be", head[0::2], head[1::2]),
    ):
        nuls = with_nuls.count(0)
        if nuls < _FEWEST_NULS or nuls <= _NULS_ON_ONE_SIDE * without.count(0):
            continue
        text = _strictly(data, encoding)
        if text is not None and _is_plausible(text[: HEAD_BYTES // 2]):
            return Decoded(text, encoding)
    return None


def _is_plausible(text: str) -> bool:
    odd = sum(
        unicodedata.category(character) in _ODD_CATEGORIES and character not in _USUAL_CONTROLS
        for character in text
    )
    return odd <= _ODD_SHARE * len(text)


def _damaged_utf_8(data: bytes) -> Decoded | None:
    text = data.decode(errors="replace")
    bad = text.count("\ufffd")
    good = sum(not character.isascii() for character in text) - bad
    return Decoded(text, DAMAGED_UTF_8) if good >= _GOOD_PER_BAD * bad else None


def _legacy(data: bytes) -> Decoded | None:
    if len(data) - len(data.translate(None, _ODD_BYTES)) > _ODD_SHARE * len(data):
        return None
    for encoding in (east_asian(data), "cp1252", "latin-1"):
        if encoding and (text := _strictly(data, encoding)) is not None:
            return Decoded(text, encoding)
    return None
