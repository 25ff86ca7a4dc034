"""From levels to spans of lines: cut where it hurts least, then join what fits together."""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from kernel.chunking.outline import GLUED, SHADES, closes
from kernel.chunking.source_lines import SourceLines

# Two definitions that each fill this share of a chunk are found better alone.
LARGE_SHARE = 1 / 3
# A header, a few imports or the end of a long function may join a part of something that was cut;
# more than this share of a chunk stands on its own.
SMALL_SHARE = 1 / 4


@dataclass(frozen=True, slots=True)
class Layout:
    """What cutting looks at: the lines, the level of each, the characters definitions begin at."""

    lines: SourceLines
    levels: bytearray
    leads: frozenset[int]


def spans(layout: Layout, budget: int) -> list[tuple[int, int]]:
    """Spans of lines that follow each other; longer than ``budget`` only if it is one line."""
    atoms = _cut(layout, budget)
    begins = _joined(layout, _with_headers(layout, atoms, budget), budget)
    begins = _balanced(layout, atoms, begins, budget)
    return _without_blank(layout, begins, budget)


def _cut(layout: Layout, budget: int) -> list[int]:
    """First lines of the largest pieces that fit: a piece is cut only if it does not."""
    starts, levels = layout.lines.starts, layout.levels
    begins: list[int] = []
    waiting = [(0, layout.lines.count)]
    while waiting:
        begin, end = waiting.pop()
        if starts[end] - starts[begin] <= budget or end - begin == 1:
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


def _with_headers(layout: Layout, atoms: list[int], budget: int) -> list[int]:
    """The head of something that was cut joins the first of its inside before all else."""
    starts, levels = layout.lines.starts, layout.levels
    kept = atoms[:1]
    ends = [*atoms[1:], layout.lines.count]
    for above, begin, end in zip(atoms, atoms[1:], ends[1:], strict=False):
        deeper = levels[begin] // SHADES > levels[above] // SHADES
        if not deeper or starts[end] - starts[kept[-1]] > budget:
            kept.append(begin)
    return kept


def _joined(layout: Layout, begins: list[int], budget: int) -> list[int]:
    """Fewer first lines: neighbours join while they fit, what belongs together first."""
    levels = layout.levels
    for level in sorted({levels[begin] for begin in begins[1:]}, reverse=True):
        ends = [*begins[1:], layout.lines.count]
        kept = [begins[0]]
        for begin, end in zip(begins[1:], ends[1:], strict=True):
            if levels[begin] != level or not _fit(layout, kept[-1], begin, end, budget):
                kept.append(begin)
        begins = kept
    return begins


def _fit(layout: Layout, begin: int, middle: int, end: int, budget: int) -> bool:
    starts, levels = layout.lines.starts, layout.levels
    left, right = starts[middle] - starts[begin], starts[end] - starts[middle]
    if left + right > budget:
        return False
    depth = levels[middle] // SHADES
    # What lies deeper than this boundary was joined before: it is a part of something cut.
    left_is_a_tail = begin > 0 and levels[begin] // SHADES > depth
    right_is_a_head = end < layout.lines.count and levels[end] // SHADES > depth
    if left_is_a_tail:
        return _only_closes(layout.lines, middle, end)
    if right_is_a_head:
        return left <= SMALL_SHARE * budget
    return starts[middle] not in layout.leads or min(left, right) < LARGE_SHARE * budget


def _balanced(layout: Layout, atoms: list[int], begins: list[int], budget: int) -> list[int]:
    """A small rest of something that was cut takes its share of the piece before it."""
    starts, levels = layout.lines.starts, layout.levels
    result = list(begins)
    for position in range(1, len(result)):
        above, begin = result[position - 1], result[position]
        end = result[position + 1] if position + 1 < len(result) else layout.lines.count
        is_whole = starts[begin] in layout.leads or not levels[begin] // SHADES
        if is_whole or starts[end] - starts[begin] >= SMALL_SHARE * budget:
            continue
        middle = (starts[above] + starts[end]) // 2
        places = [
            at
            for at in atoms[bisect_right(atoms, above) : bisect_left(atoms, begin)]
            if levels[at] // SHADES >= levels[begin] // SHADES
            and levels[at] % SHADES != GLUED
            and starts[end] - starts[at] <= budget
        ]
        if places:
            result[position] = min(places, key=lambda at: (levels[at], abs(starts[at] - middle)))
    return result


def _only_closes(lines: SourceLines, begin: int, end: int) -> bool:
    return all(closes(content) for content in lines.stripped[begin:end])


def _without_blank(layout: Layout, begins: list[int], budget: int) -> list[tuple[int, int]]:
    """White space joins what is above it or else below it, wherever there is room."""
    starts, stripped = layout.lines.starts, layout.lines.stripped
    result: list[tuple[int, int]] = []
    blank_before = False
    for begin, end in zip(begins, [*begins[1:], layout.lines.count], strict=True):
        blank = not any(stripped[begin:end])
        fits = bool(result) and starts[end] - starts[result[-1][0]] <= budget
        below_long = (
            bool(result) and blank and _ends_long_line(layout.lines, *result[-1], end, budget)
        )
        if (fits and (blank or blank_before)) or below_long:
            result[-1] = (result[-1][0], end)
            blank_before = blank_before and blank
        else:
            result.append((begin, end))
            blank_before = blank
    return result


def _ends_long_line(lines: SourceLines, first: int, begin: int, end: int, budget: int) -> bool:
    """Whether ``first`` is a line too long for a chunk whose last piece has room up to ``end``."""
    begin_character, end_character = lines.starts[first], lines.starts[begin]
    if end_character - begin_character <= budget:
        return False
    visible = len(lines.text[begin_character:end_character].rstrip())
    return lines.starts[end] - begin_character - visible < budget
