"""Choose where chunks begin.

Split at the lowest boundary level, join what fits into max_chunk_chars, and split lines that
are longer than a chunk.
"""

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from codekernel.chunking.outline import ATTACHED, LEVELS_PER_DEPTH, SourceLines, is_closing_line

# A split is searched in the last part of the budget; before that, a piece would be too short.
SPLIT_LOOKBACK_RATIO = 1 / 4

# After white space best of all, else after what ends or separates something.
_AFTER_SPACE = re.compile(r".*\s(?=\S)", re.DOTALL)

_AFTER_PUNCTUATION = re.compile(r".*[;,})\]>|&.:!?]", re.DOTALL)

_HIGH_SURROGATES = range(0xD800, 0xDC00)

_LOW_SURROGATES = range(0xDC00, 0xE000)


def split_long_line(text: str, begin: int, end: int, max_chunk_chars: int) -> list[tuple[int, int]]:
    """Return the bounds of pieces of ``text[begin:end]`` of at most ``max_chunk_chars`` (>= 2)."""
    visible_end = begin + len(text[begin:end].rstrip())
    pieces: list[tuple[int, int]] = []
    while end - begin > max_chunk_chars:
        latest = begin + max_chunk_chars
        # The white space at the end, mostly the newline, stays with a character.
        if (
            latest >= visible_end
            and begin + 1 < visible_end
            and end - visible_end < max_chunk_chars
        ):
            latest = visible_end - 1
        at = _keep_pair_together(
            text, begin, _find_split(text, begin, latest, max(end - max_chunk_chars, begin))
        )
        pieces.append((begin, at))
        begin = at
    pieces.append((begin, end))
    return pieces


def _find_split(text: str, begin: int, latest: int, lowest: int) -> int:
    """Return where to split, at ``latest`` or shortly before it."""
    earliest = latest - int((latest - begin) * SPLIT_LOOKBACK_RATIO)
    if lowest < latest:
        earliest = max(earliest, min(lowest, latest)) if lowest > begin else earliest
    window = text[earliest:latest]
    found = _AFTER_SPACE.match(window) or _AFTER_PUNCTUATION.match(window)
    at = earliest + found.end() if found else latest
    return latest if text[begin:at].isspace() or at == begin else at


def _keep_pair_together(text: str, begin: int, at: int) -> int:
    """Return ``at``, or one less if it would split a CR LF or a surrogate pair."""
    before, after = text[at - 1], text[at]
    pair = (before == "\r" and after == "\n") or (
        ord(before) in _HIGH_SURROGATES and ord(after) in _LOW_SURROGATES
    )
    if not pair:
        return at
    return at - 1 if at - 1 > begin else at + 1


# Two definitions that each fill this share of a chunk are found better alone.
LARGE_DEFINITION_RATIO = 1 / 3

# A header, a few imports or the end of a long function may join a part of something that was split;
# more than this share of a chunk stays alone.
SMALL_PART_RATIO = 1 / 4


@dataclass(frozen=True, slots=True)
class ChunkLayout:
    """The lines, the boundary level of each, and the characters definitions begin at."""

    lines: SourceLines
    levels: bytearray
    definition_starts: frozenset[int]


def split_into_spans(layout: ChunkLayout, max_chunk_chars: int) -> list[tuple[int, int]]:
    """Return consecutive spans of lines; longer than ``max_chunk_chars`` only if it is one line."""
    atoms = _split_at_levels(layout, max_chunk_chars)
    begins = _join_spans(layout, _attach_headers(layout, atoms, max_chunk_chars), max_chunk_chars)
    begins = _balance_spans(layout, atoms, begins, max_chunk_chars)
    return _merge_blank_spans(layout, begins, max_chunk_chars)


def _split_at_levels(layout: ChunkLayout, max_chunk_chars: int) -> list[int]:
    """Return the first lines of the largest pieces that fit."""
    starts, levels = layout.lines.starts, layout.levels
    begins: list[int] = []
    waiting = [(0, layout.lines.line_count)]
    while waiting:
        begin, end = waiting.pop()
        if starts[end] - starts[begin] <= max_chunk_chars or end - begin == 1:
            begins.append(begin)
            continue
        lowest = min(levels[begin + 1 : end])
        inner: list[int] = [begin]
        at = levels.find(lowest, begin + 1, end)
        while at >= 0:
            inner.append(at)
            at = levels.find(lowest, at + 1, end)
        inner.append(end)
        # The last one first, for this is a stack.
        waiting.extend(zip(inner[-2::-1], inner[:0:-1], strict=True))
    return begins


def _attach_headers(layout: ChunkLayout, atoms: list[int], max_chunk_chars: int) -> list[int]:
    """Join the head of something that was split with the first piece of its inside."""
    starts, levels = layout.lines.starts, layout.levels
    kept = atoms[:1]
    ends = [*atoms[1:], layout.lines.line_count]
    for above, begin, end in zip(atoms, atoms[1:], ends[1:], strict=False):
        deeper = levels[begin] // LEVELS_PER_DEPTH > levels[above] // LEVELS_PER_DEPTH
        if not deeper or starts[end] - starts[kept[-1]] > max_chunk_chars:
            kept.append(begin)
    return kept


def _join_spans(layout: ChunkLayout, begins: list[int], max_chunk_chars: int) -> list[int]:
    """Join neighbours while they fit, the deepest boundaries first."""
    levels = layout.levels
    for level in sorted({levels[begin] for begin in begins[1:]}, reverse=True):
        ends = [*begins[1:], layout.lines.line_count]
        kept = [begins[0]]
        for begin, end in zip(begins[1:], ends[1:], strict=True):
            if levels[begin] != level or not _can_join(
                layout, kept[-1], begin, end, max_chunk_chars
            ):
                kept.append(begin)
        begins = kept
    return begins


def _can_join(layout: ChunkLayout, begin: int, middle: int, end: int, max_chunk_chars: int) -> bool:
    starts, levels = layout.lines.starts, layout.levels
    left, right = starts[middle] - starts[begin], starts[end] - starts[middle]
    if left + right > max_chunk_chars:
        return False
    depth = levels[middle] // LEVELS_PER_DEPTH
    # Deeper pieces were joined before: they are parts of something that was split.
    left_is_a_tail = begin > 0 and levels[begin] // LEVELS_PER_DEPTH > depth
    right_is_a_head = end < layout.lines.line_count and levels[end] // LEVELS_PER_DEPTH > depth
    if left_is_a_tail:
        return _is_only_closing(layout.lines, middle, end)
    if right_is_a_head:
        return left <= SMALL_PART_RATIO * max_chunk_chars
    return (
        starts[middle] not in layout.definition_starts
        or min(left, right) < LARGE_DEFINITION_RATIO * max_chunk_chars
    )


def _balance_spans(
    layout: ChunkLayout, atoms: list[int], begins: list[int], max_chunk_chars: int
) -> list[int]:
    """Give a small last piece of something that was split a share of the piece before it."""
    starts, levels = layout.lines.starts, layout.levels
    result = list(begins)
    for position in range(1, len(result)):
        above, begin = result[position - 1], result[position]
        end = result[position + 1] if position + 1 < len(result) else layout.lines.line_count
        is_whole = (
            starts[begin] in layout.definition_starts or not levels[begin] // LEVELS_PER_DEPTH
        )
        if is_whole or starts[end] - starts[begin] >= SMALL_PART_RATIO * max_chunk_chars:
            continue
        middle = (starts[above] + starts[end]) // 2
        places = [
            at
            for at in atoms[bisect_right(atoms, above) : bisect_left(atoms, begin)]
            if levels[at] // LEVELS_PER_DEPTH >= levels[begin] // LEVELS_PER_DEPTH
            and levels[at] % LEVELS_PER_DEPTH != ATTACHED
            and starts[end] - starts[at] <= max_chunk_chars
        ]
        if places:
            result[position] = min(places, key=lambda at: (levels[at], abs(starts[at] - middle)))
    return result


def _is_only_closing(lines: SourceLines, begin: int, end: int) -> bool:
    return all(is_closing_line(content) for content in lines.stripped[begin:end])


def _merge_blank_spans(
    layout: ChunkLayout, begins: list[int], max_chunk_chars: int
) -> list[tuple[int, int]]:
    """Join blank spans with the one above or else below, where they fit."""
    starts, stripped = layout.lines.starts, layout.lines.stripped
    result: list[tuple[int, int]] = []
    blank_before = False
    for begin, end in zip(begins, [*begins[1:], layout.lines.line_count], strict=True):
        blank = not any(stripped[begin:end])
        fits = bool(result) and starts[end] - starts[result[-1][0]] <= max_chunk_chars
        below_long = (
            bool(result)
            and blank
            and _has_room_after_long_line(layout.lines, *result[-1], end, max_chunk_chars)
        )
        if (fits and (blank or blank_before)) or below_long:
            result[-1] = (result[-1][0], end)
            blank_before = blank_before and blank
        else:
            result.append((begin, end))
            blank_before = blank
    return result


def _has_room_after_long_line(
    lines: SourceLines, first: int, begin: int, end: int, max_chunk_chars: int
) -> bool:
    """Whether ``first`` is a line too long for a chunk whose last piece has room up to ``end``."""
    begin_character, end_character = lines.starts[first], lines.starts[begin]
    if end_character - begin_character <= max_chunk_chars:
        return False
    visible = len(lines.text[begin_character:end_character].rstrip())
    return lines.starts[end] - begin_character - visible < max_chunk_chars
