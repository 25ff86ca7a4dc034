"""Chinese, Japanese and Korean encodings, told from each other and from accented Latin letters.

All of them write a character as two bytes, and nearly any bytes decode in most of them. What tells
them apart is which pairs are frequent: common characters lie together in each of these standards.
"""

import re
from collections import Counter

# Enough to count pairs in; further on a file is hardly in another language.
_SAMPLE_BYTES = 64_000
_PAIR = re.compile(rb"[\x81-\xfe][\x30-\xfe]")
_SHIFT_JIS = re.compile(rb"([\x81-\x9f\xe0-\xfc][\x40-\x7e\x80-\xfc])|[\xa1-\xdf]")
_SHIFT_JIS_KANA = re.compile(rb"\x81[\x40-\x5b]|\x82[\x9f-\xf1]|\x83[\x40-\x96]")

# Both bytes are high in the EUC family: nearly always in text of these languages, seldom in Latin.
_EUC_SHARE = 0.9
# Kana among all characters: every Japanese sentence has them, Chinese and Korean none.
_KANA_SHARE = 0.2
_SHIFT_JIS_KANA_SHARE = 0.3
# The 3755 frequent characters of GB2312, with its symbols: nearly all of ordinary prose.
_COMMON_CHINESE_SHARE = 0.7
# Korean syllables end at row C8; much of Chinese lies behind it, sorted by sound (shi ... zu).
_KOREAN_SHARE = 0.97
_FEWEST_KOREAN_PAIRS = 8
_COMMON_BIG5_SHARE = 0.9
# Second bytes of Big5 are low in many characters, never in all; after a Latin letter in nearly all.
_BIG5_LOW_SHARE = (0.1, 0.85)
_FEWEST_BIG5_PAIRS = 4

_SYMBOL_ROWS = range(0xA1, 0xA4)
_KANA_ROWS = range(0xA4, 0xA6)
_COMMON_CHINESE_ROWS = range(0xB0, 0xD8)
_CHINESE_ROWS = range(0xB0, 0xF8)
_KOREAN_ROWS = range(0xB0, 0xC9)
_COMMON_BIG5_ROWS = range(0xA1, 0xC7)
_FIRST_HIGH_TRAIL = 0xA1


def east_asian(data: bytes) -> str | None:
    """The encoding that the pairs of bytes speak for; None if they speak for none."""
    sample = data[:_SAMPLE_BYTES]
    if _is_shift_jis(sample):
        return "cp932"
    pairs = _PAIR.findall(sample)
    if not pairs:
        return None
    rows = Counter(pair[0] for pair in pairs if pair[1] >= _FIRST_HIGH_TRAIL <= pair[0])
    if rows.total() >= _EUC_SHARE * len(pairs):
        return _of_the_euc_family(rows)
    return "cp950" if _is_big5(pairs) else None


def _of_the_euc_family(rows: Counter[int]) -> str | None:
    total = rows.total()
    if _within(rows, _KANA_ROWS) >= _KANA_SHARE * total:
        return "euc_jp"
    characters = _within(rows, _CHINESE_ROWS)
    korean = _within(rows, _KOREAN_ROWS)
    if characters >= _FEWEST_KOREAN_PAIRS and korean >= _KOREAN_SHARE * characters:
        return "cp949"
    common = _within(rows, _COMMON_CHINESE_ROWS) + _within(rows, _SYMBOL_ROWS)
    return "gb18030" if common >= _COMMON_CHINESE_SHARE * total else None


def _is_shift_jis(sample: bytes) -> bool:
    found = list(_SHIFT_JIS.finditer(sample))
    pairs = [match[1] for match in found if match[1]]
    kana = sum(_SHIFT_JIS_KANA.match(pair) is not None for pair in pairs)
    return kana > 0 and kana >= _SHIFT_JIS_KANA_SHARE * len(found)


def _is_big5(pairs: list[bytes]) -> bool:
    common = sum(pair[0] in _COMMON_BIG5_ROWS for pair in pairs)
    low = sum(pair[1] < _FIRST_HIGH_TRAIL for pair in pairs)
    fewest, most = (share * len(pairs) for share in _BIG5_LOW_SHARE)
    return (
        len(pairs) >= _FEWEST_BIG5_PAIRS
        and common >= _COMMON_BIG5_SHARE * len(pairs)
        and fewest <= low <= most
    )


def _within(rows: Counter[int], wanted: range) -> int:
    return sum(rows[row] for row in wanted)
