"""Cutting inside a line that is longer than a chunk may be: minified code, data, prose."""

import re

# A cut is looked for in the last part of the budget; before that, a piece would be too short.
LOOK_BACK_SHARE = 1 / 4
# After white space best of all, else after what ends or separates something.
_AFTER_SPACE = re.compile(r".*\s(?=\S)", re.DOTALL)
_AFTER_PUNCTUATION = re.compile(r".*[;,})\]>|&.:!?]", re.DOTALL)
_HIGH = range(0xD800, 0xDC00)
_LOW = range(0xDC00, 0xE000)


def cut_line(text: str, begin: int, end: int, budget: int) -> list[tuple[int, int]]:
    """Bounds of pieces of ``text[begin:end]``, none longer than ``budget`` (two at least)."""
    visible_end = begin + len(text[begin:end].rstrip())
    pieces: list[tuple[int, int]] = []
    while end - begin > budget:
        latest = begin + budget
        # The white space at the end, mostly the newline, keeps a character company.
        if latest >= visible_end and begin + 1 < visible_end and end - visible_end < budget:
            latest = visible_end - 1
        at = _whole(text, begin, _place(text, begin, latest, max(end - budget, begin)))
        pieces.append((begin, at))
        begin = at
    pieces.append((begin, end))
    return pieces


def _place(text: str, begin: int, latest: int, lowest: int) -> int:
    """Where to cut, at ``latest`` or shortly before it."""
    earliest = latest - int((latest - begin) * LOOK_BACK_SHARE)
    if lowest < latest:
        earliest = max(earliest, min(lowest, latest)) if lowest > begin else earliest
    window = text[earliest:latest]
    found = _AFTER_SPACE.match(window) or _AFTER_PUNCTUATION.match(window)
    at = earliest + found.end() if found else latest
    return latest if text[begin:at].isspace() or at == begin else at


def _whole(text: str, begin: int, at: int) -> int:
    """``at``, or one less if a pair that belongs together would be cut."""
    before, after = text[at - 1], text[at]
    pair = (before == "\r" and after == "\n") or (ord(before) in _HIGH and ord(after) in _LOW)
    if not pair:
        return at
    return at - 1 if at - 1 > begin else at + 1
