"""Line diff: Myers' algorithm with jsdiff 7's tie-breaking.

The structured patch (hunks with three lines of context) built from it, equal to jsdiff's to the
letter.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import Enum
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

# Comparisons and diagonals before the search gives up: a second or two. Work is
# counted, not time, so that the same two texts give the same answer everywhere.
MAX_DIFF_EFFORT: Final = 2_000_000


class DiffOp(Enum):
    """What happens to a run of lines."""

    KEPT = " "
    REMOVED = "-"
    ADDED = "+"


@dataclass(frozen=True, slots=True)
class DiffRun:
    """Consecutive lines with the same operation."""

    op: DiffOp
    count: int


def compute_diff_runs(
    old: Sequence[str], new: Sequence[str], *, effort: int = MAX_DIFF_EFFORT
) -> list[DiffRun]:
    """Return the runs from old to new; beyond the effort, everything between is replaced."""
    before, after = _intern_lines(old, new)
    same = _count_common_prefix(before, after)
    if same == len(before) or same == len(after) or set(before[same:]).isdisjoint(after[same:]):
        # With nothing more in common every tie falls alike: all removals, then all additions.
        return _build_replacement(same, len(before), len(after), 0)
    found = _MyersSearch(before, after, effort).run()
    if found is None:
        tail = _count_common_prefix(before[same:][::-1], after[same:][::-1])
        return _build_replacement(same, len(before), len(after), tail)
    return _join_runs(found)


class _MyersSearch:
    """The furthest position on each diagonal, one more edit in every round.

    Diagonal k holds the positions where k more old than new lines have been passed; what is kept
    for it is the number of old lines.
    """

    def __init__(self, old: list[int], new: list[int], effort: int) -> None:
        self._old_length, self._new_length = len(old), len(new)
        # The last two numbers equal nothing, so that no comparison runs out of a text.
        self._old, self._new = [*old, -1], [*new, -2]
        self._effort = effort
        # Negative diagonals count from the end of the list.
        self._best = [-1] * (len(old) + len(new) + 3)
        # Once a diagonal has reached an edge of the graph, there is nothing to gain beyond it.
        self._lowest, self._highest = -len(new), len(old)
        self._rounds: list[tuple[int, bytearray]] = []

    def run(self) -> Iterator[tuple[DiffOp, int]] | None:
        """Return the runs of the first path that arrives, or None beyond the effort."""
        self._best[0] = self._common_from(0, 0)
        while self._effort > 0:
            arrived = self._round(len(self._rounds) + 1)
            if arrived is not None:
                return self._walk(self._edits_to(arrived))
        return None

    def _round(self, edits: int) -> int | None:
        """Extend every path by one edit; return the diagonal on which one arrives."""
        old, new, best = self._old, self._new, self._best
        first = max(self._lowest, -edits)
        additions = bytearray()
        self._rounds.append((first, additions))
        travelled = 0
        for diagonal in range(first, min(self._highest, edits) + 1, 2):
            removing, adding = best[diagonal - 1], best[diagonal + 1]
            adds = removing < adding
            additions.append(adds)
            start = at = adding if adds else removing + 1
            while old[at] == new[at - diagonal]:
                at += 1
            travelled += at - start
            best[diagonal] = at
            at_bottom = at - diagonal == self._new_length
            if at == self._old_length:
                if at_bottom:
                    return diagonal
                self._highest = diagonal - 1
                break
            if at_bottom:
                self._lowest = diagonal + 1
        self._effort -= len(additions) + travelled
        return None

    def _edits_to(self, diagonal: int) -> Iterator[DiffOp]:
        """Return the edits of the path that arrived, from its beginning."""
        edits: list[DiffOp] = []
        for first, additions in reversed(self._rounds):
            added = additions[(diagonal - first) // 2]
            edits.append(DiffOp.ADDED if added else DiffOp.REMOVED)
            diagonal += 1 if added else -1
        return reversed(edits)

    def _walk(self, edits: Iterator[DiffOp]) -> Iterator[tuple[DiffOp, int]]:
        """Yield these edits, with the equal lines between them."""
        old = new = 0
        for op in (DiffOp.KEPT, *edits):
            if op is not DiffOp.KEPT:
                yield op, 1
                old, new = (old, new + 1) if op is DiffOp.ADDED else (old + 1, new)
            same = self._common_from(old, new)
            yield DiffOp.KEPT, same
            old, new = old + same, new + same

    def _common_from(self, old: int, new: int) -> int:
        at = old
        while self._old[at] == self._new[at - old + new]:
            at += 1
        return at - old


def _join_runs(counted: Iterable[tuple[DiffOp, int]]) -> list[DiffRun]:
    """Leave out what is empty, and join neighbours with the same operation."""
    groups = groupby((run for run in counted if run[1]), key=itemgetter(0))
    return [DiffRun(op, sum(count for _, count in group)) for op, group in groups]


def _intern_lines(old: Sequence[str], new: Sequence[str]) -> tuple[list[int], list[int]]:
    """Equal lines become equal numbers, which are quick to compare."""
    numbers: dict[str, int] = {}
    return (
        [numbers.setdefault(line, len(numbers)) for line in old],
        [numbers.setdefault(line, len(numbers)) for line in new],
    )


def _count_common_prefix(old: Sequence[int], new: Sequence[int]) -> int:
    shorter = min(len(old), len(new))
    return next((at for at in range(shorter) if old[at] != new[at]), shorter)


def _build_replacement(head: int, old: int, new: int, tail: int) -> list[DiffRun]:
    counts = (head, old - head - tail, new - head - tail, tail)
    ops = (DiffOp.KEPT, DiffOp.REMOVED, DiffOp.ADDED, DiffOp.KEPT)
    return _join_runs(zip(ops, counts, strict=True))


CONTEXT_LINES: Final = 3

NO_NEWLINE_MARKER: Final = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class DiffHunk:
    """Neighbouring changes with their surroundings; starts count from 1 on both sides.

    A line keeps its carriage return and loses its newline; NO_NEWLINE stands after a line that had
    none and is counted on neither side.
    """

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The hunk under jsdiff's names."""
        return {
            "oldStart": self.old_start,
            "oldLines": self.old_lines,
            "newStart": self.new_start,
            "newLines": self.new_lines,
            "lines": list(self.lines),
        }


# An operation with its lines: the first and the end on both sides, counted from 0.
_Opcode = tuple[str, int, int, int, int]


def compute_structured_patch(
    old: str, new: str, *, effort: int = MAX_DIFF_EFFORT
) -> list[DiffHunk]:
    """The hunks that turn old into new; none for equal texts.

    Two texts so large and so different that the search would take longer than the effort give one
    hunk that replaces everything between their common beginning and end.
    """
    if old == new:
        return []
    before, after = _split_lines(old), _split_lines(new)
    groups = _HunkGrouper(compute_diff_runs(before, after, effort=effort))
    return [
        _build_hunk(group, before, after) for group in groups.get_grouped_opcodes(CONTEXT_LINES)
    ]


def apply_hunks(old: str, hunks: Sequence[DiffHunk], accepted: Collection[int]) -> str:
    """Return the old text with only the accepted hunks applied; they count from 0."""
    before = _split_lines(old)
    parts: list[str] = []
    copied = 0
    for number, hunk in enumerate(hunks):
        if number not in accepted:
            continue
        first = hunk.old_start - 1
        parts += before[copied:first]
        parts += _list_new_lines(hunk)
        copied = first + hunk.old_lines
    return "".join([*parts, *before[copied:]])


def _list_new_lines(hunk: DiffHunk) -> Iterator[str]:
    for line, following in zip(hunk.lines, (*hunk.lines[1:], ""), strict=True):
        if line[:1] in {" ", DiffOp.ADDED.value}:
            yield line[1:] if following == NO_NEWLINE_MARKER else f"{line[1:]}\n"


class _HunkGrouper(SequenceMatcher[str]):
    """Groups our runs as difflib groups its own: changes with the lines kept around them."""

    def __init__(self, runs: Iterable[DiffRun]) -> None:
        super().__init__()
        self._runs = runs

    def get_opcodes(self) -> list[Any]:
        """Return the runs in difflib's format."""
        opcodes: list[_Opcode] = []
        old = new = 0
        for run in self._runs:
            old_end = old + run.count * (run.op is not DiffOp.ADDED)
            new_end = new + run.count * (run.op is not DiffOp.REMOVED)
            tag = "equal" if run.op is DiffOp.KEPT else run.op.value
            opcodes.append((tag, old, old_end, new, new_end))
            old, new = old_end, new_end
        return opcodes


def _build_hunk(group: Sequence[_Opcode], before: Sequence[str], after: Sequence[str]) -> DiffHunk:
    lines: list[str] = []
    for tag, old, old_end, new, new_end in group:
        sign = " " if tag == "equal" else tag
        for line in after[new:new_end] if sign == DiffOp.ADDED.value else before[old:old_end]:
            lines.append(sign + line.removesuffix("\n"))
            if not line.endswith("\n"):
                lines.append(NO_NEWLINE_MARKER)
    (_, old, _, new, _), (_, _, old_end, _, new_end) = group[0], group[-1]
    return DiffHunk(old + 1, old_end - old, new + 1, new_end - new, tuple(lines))


def _split_lines(text: str) -> list[str]:
    """Lines with their ends; only a newline ends a line, as in jsdiff."""
    *whole, rest = text.split("\n")
    return [line + "\n" for line in whole] + ([rest] if rest else [])
