"""Detect the character encoding of a file and decode it.

UTF-8, UTF-16 with and without a byte order mark, UTF-32 with one, GB18030, Big5, Shift-JIS,
EUC-JP, EUC-KR, else Windows-1252 or Latin-1. Not detected: traditional characters in GBK and
one-byte encodings of other scripts.
"""

import codecs
import re
import unicodedata
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass

# Enough to count pairs in; further on a file is hardly in another language.
_SAMPLE_BYTES = 64_000

_PAIR = re.compile(rb"[\x81-\xfe][\x30-\xfe]")

_SHIFT_JIS = re.compile(rb"([\x81-\x9f\xe0-\xfc][\x40-\x7e\x80-\xfc])|[\xa1-\xdf]")

_SHIFT_JIS_KANA = re.compile(rb"\x81[\x40-\x5b]|\x82[\x9f-\xf1]|\x83[\x40-\x96]")

# Both bytes are high in the EUC family: nearly always in text of these languages, seldom in Latin.
_MIN_EUC_RATIO = 0.9

# Kana among all characters: every Japanese sentence has them, Chinese and Korean none.
_MIN_KANA_RATIO = 0.2

_MIN_SHIFT_JIS_KANA_RATIO = 0.3

# The 3755 frequent characters of GB2312, with its symbols: nearly all of ordinary prose.
_MIN_COMMON_CHINESE_RATIO = 0.7

# Korean syllables end at row C8; much of Chinese lies behind it, sorted by sound (shi ... zu).
_MIN_KOREAN_RATIO = 0.97

_MIN_KOREAN_PAIRS = 8

_MIN_COMMON_BIG5_RATIO = 0.9

# Second bytes of Big5 are low in many characters, never in all; after a Latin letter in nearly all.
_BIG5_LOW_RATIO_RANGE = (0.1, 0.85)

_MIN_BIG5_PAIRS = 4

# First bytes in the EUC family: symbols, kana, Korean, common Chinese, all Chinese.
_EUC_ROWS = tuple(
    range(*bounds)
    for bounds in ((0xA1, 0xA4), (0xA4, 0xA6), (0xB0, 0xC9), (0xB0, 0xD8), (0xB0, 0xF8))
)

_COMMON_BIG5_ROWS = range(0xA1, 0xC7)

_FIRST_HIGH_TRAIL = 0xA1


def detect_east_asian_encoding(data: bytes) -> str | None:
    """Return the East Asian encoding that fits the pairs of bytes, or None."""
    sample = data[:_SAMPLE_BYTES]
    if _is_shift_jis(sample):
        return "cp932"
    pairs = _PAIR.findall(sample)
    if not pairs:
        return None
    rows = Counter(pair[0] for pair in pairs if pair[1] >= _FIRST_HIGH_TRAIL <= pair[0])
    if rows.total() >= _MIN_EUC_RATIO * len(pairs):
        return _detect_euc_encoding(rows)
    return "cp950" if _is_big5(pairs) else None


def _detect_euc_encoding(rows: Counter[int]) -> str | None:
    symbols, kana, korean, common_chinese, chinese = (
        sum(rows[row] for row in wanted) for wanted in _EUC_ROWS
    )
    if kana >= _MIN_KANA_RATIO * rows.total():
        return "euc_jp"
    if chinese >= _MIN_KOREAN_PAIRS and korean >= _MIN_KOREAN_RATIO * chinese:
        return "cp949"
    is_chinese = common_chinese + symbols >= _MIN_COMMON_CHINESE_RATIO * rows.total()
    return "gb18030" if is_chinese else None


def _is_shift_jis(sample: bytes) -> bool:
    found = list(_SHIFT_JIS.finditer(sample))
    pairs = [match[1] for match in found if match[1]]
    kana = sum(_SHIFT_JIS_KANA.match(pair) is not None for pair in pairs)
    return kana > 0 and kana >= _MIN_SHIFT_JIS_KANA_RATIO * len(found)


def _is_big5(pairs: list[bytes]) -> bool:
    common = sum(pair[0] in _COMMON_BIG5_ROWS for pair in pairs)
    low = sum(pair[1] < _FIRST_HIGH_TRAIL for pair in pairs)
    fewest, most = (share * len(pairs) for share in _BIG5_LOW_RATIO_RANGE)
    return (
        len(pairs) >= _MIN_BIG5_PAIRS
        and common >= _MIN_COMMON_BIG5_RATIO * len(pairs)
        and fewest <= low <= most
    )


# As git: a NUL among the first 8000 bytes makes a file binary, if it is no UTF-16.
BINARY_CHECK_BYTES = 8_000

# The mark of UTF-32 begins with that of UTF-16, and so comes first.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

# UTF-8 with a few bytes of something else in it: these become U+FFFD, the rest stays readable.
DAMAGED_UTF_8 = "utf-8-damaged"

_MIN_GOOD_PER_BAD = 10

# Of UTF-16, a few characters have their NUL on the other side: U+3000 and U+4E00 are frequent.
_MIN_NUL_SIDE_RATIO = 2

# A NUL or two may stray into a short file of another encoding.
_MIN_NULS = 4

# Of the characters of a text, how many may be ones that texts do not have.
_MAX_ODD_RATIO = 0.01

_ODD_CATEGORIES = {"Cc", "Cn", "Co", "Cs"}

_COMMON_CONTROLS = frozenset("\t\n\r\f\v\b\x1b\x1a")

_ODD_BYTES = bytes({*range(0x20), 0x7F} - {ord(usual) for usual in _COMMON_CONTROLS})


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A text and the Python name of its encoding, but for damaged UTF-8."""

    text: str
    encoding: str


def decode_text(data: bytes) -> DecodedText | None:
    """Return the text without its byte order mark; None if it is no text."""
    marked = [encoding for mark, encoding in _BYTE_ORDER_MARKS if data.startswith(mark)]
    if decoded := _decode_first(data, *marked):
        return decoded
    if is_binary(data):
        return _decode_unmarked_utf_16(data)
    return _decode_first(data, "utf-8") or _decode_damaged_utf_8(data) or _decode_legacy(data)


def is_binary(data: bytes) -> bool:
    """Whether there is a NUL at the head, as in no text but UTF-16 and UTF-32."""
    return b"\0" in data[:BINARY_CHECK_BYTES]


def _decode_first(data: bytes, *encodings: str) -> DecodedText | None:
    """Decode by the first of the encodings that fits all bytes."""
    for encoding in encodings:
        with suppress(UnicodeDecodeError):
            return DecodedText(data.decode(encoding), encoding)
    return None


def _decode_unmarked_utf_16(data: bytes) -> DecodedText | None:
    """Decode UTF-16 without a mark; the side of the NULs gives the byte order."""
    head = data[:BINARY_CHECK_BYTES]
    for encoding, with_nuls, without in (
        ("utf-16-le", head[1::2], head[0::2]),
        ("utf-16-be", head[0::2], head[1::2]),
    ):
        nuls = with_nuls.count(0)
        if nuls < _MIN_NULS or nuls <= _MIN_NUL_SIDE_RATIO * without.count(0):
            continue
        decoded = _decode_first(data, encoding)
        if decoded and _is_plausible(decoded.text[: BINARY_CHECK_BYTES // 2]):
            return decoded
    return None


def _is_plausible(text: str) -> bool:
    odd = sum(
        unicodedata.category(character) in _ODD_CATEGORIES and character not in _COMMON_CONTROLS
        for character in text
    )
    return odd <= _MAX_ODD_RATIO * len(text)


def _decode_damaged_utf_8(data: bytes) -> DecodedText | None:
    text = data.decode(errors="replace")
    bad = text.count("\ufffd")
    good = sum(not character.isascii() for character in text) - bad
    return DecodedText(text, DAMAGED_UTF_8) if good >= _MIN_GOOD_PER_BAD * bad else None


def _decode_legacy(data: bytes) -> DecodedText | None:
    if len(data) - len(data.translate(None, _ODD_BYTES)) > _MAX_ODD_RATIO * len(data):
        return None
    east_asian = detect_east_asian_encoding(data)
    return _decode_first(data, *([east_asian] if east_asian else []), "cp1252", "latin-1")
