"""Which lines stay, go and come between two texts: Myers' search, with jsdiff 7's choices.

Documents are compared by programs that expect jsdiff's hunks to the letter, so the order in which
paths are tried and the way ties fall follow that package, not Myers' paper: nothing common is cut
off at the end first, and a removal wins over an addition unless the addition has come further.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

# Comparisons and diagonals before the search gives up: a second or two. Work is
# counted, not time, so that the same two texts give the same answer everywhere.
LARGEST_EFFORT: Final = 2_000_000


class Fate(Enum):
    """What becomes of a run of lines."""

    KEPT = " "
    REMOVED = "-"
    ADDED = "+"


@dataclass(frozen=True, slots=True)
class Run:
    """So many lines, one after another, with one fate."""

    fate: Fate
    count: int


def runs_between(
    old: Sequence[str], new: Sequence[str], *, effort: int = LARGEST_EFFORT
) -> list[Run]:
    """The runs that lead from old to new; beyond the effort, everything between is replaced."""
    before, after = _as_numbers(old, new)
    same = _common_start(before, after)
    if same == len(before) == len(after):
        return _present(Run(Fate.KEPT, same))
    if same == len(before) or same == len(after) or set(before[same:]).isdisjoint(after[same:]):
        # With nothing more in common every tie falls alike: all removals, then all additions.
        return _replaced(same, len(before), len(after), 0)
    found = _Search(before, after, effort).run()
    if found is None:
        tail = _common_start(before[same:][::-1], after[same:][::-1])
        return _replaced(same, len(before), len(after), tail)
    return found


class _Search:
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

    def run(self) -> list[Run] | None:
        """The runs of the first path that arrives, or nothing if that takes too much effort."""
        self._best[0] = self._common_from(0, 0)
        while self._effort > 0:
            arrived = self._round(len(self._rounds) + 1)
            if arrived is not None:
                return self._walk(self._edits_to(arrived))
        return None

    def _round(self, edits: int) -> int | None:
        """Takes every path one edit further; the diagonal on which one arrives."""
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

    def _edits_to(self, diagonal: int) -> Iterator[Fate]:
        """The edits of the path that arrived, from its beginning."""
        fates: list[Fate] = []
        for first, additions in reversed(self._rounds):
            added = additions[(diagonal - first) // 2]
            fates.append(Fate.ADDED if added else Fate.REMOVED)
            diagonal += 1 if added else -1
        return reversed(fates)

    def _walk(self, edits: Iterator[Fate]) -> list[Run]:
        """The runs of these edits, with everything that is alike between them."""
        runs = _Runs()
        old = new = 0
        for fate in (Fate.KEPT, *edits):
            if fate is not Fate.KEPT:
                runs.add(fate, 1)
                old, new = (old, new + 1) if fate is Fate.ADDED else (old + 1, new)
            same = self._common_from(old, new)
            runs.add(Fate.KEPT, same)
            old, new = old + same, new + same
        return runs.all

    def _common_from(self, old: int, new: int) -> int:
        at = old
        while self._old[at] == self._new[at - old + new]:
            at += 1
        return at - old


class _Runs:
    """Runs as they come; neighbours with one fate become one."""

    def __init__(self) -> None:
        self.all: list[Run] = []

    def add(self, fate: Fate, count: int) -> None:
        if not count:
            return
        if self.all and self.all[-1].fate is fate:
            count += self.all.pop().count
        self.all.append(Run(fate, count))


def _as_numbers(old: Sequence[str], new: Sequence[str]) -> tuple[list[int], list[int]]:
    """Equal lines become equal numbers, which are quick to compare."""
    numbers: dict[str, int] = {}
    return (
        [numbers.setdefault(line, len(numbers)) for line in old],
        [numbers.setdefault(line, len(numbers)) for line in new],
    )


def _common_start(old: Sequence[int], new: Sequence[int]) -> int:
    shorter = min(len(old), len(new))
    return next((at for at in range(shorter) if old[at] != new[at]), shorter)


def _replaced(head: int, old: int, new: int, tail: int) -> list[Run]:
    return _present(
        Run(Fate.KEPT, head),
        Run(Fate.REMOVED, old - head - tail),
        Run(Fate.ADDED, new - head - tail),
        Run(Fate.KEPT, tail),
    )


def _present(*runs: Run) -> list[Run]:
    return [run for run in runs if run.count]
