"""The structured patch between two texts, equal to jsdiff 7's with three lines of context."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kernel.domain.myers import LARGEST_EFFORT, Fate, runs_between

CONTEXT_LINES: Final = 3
NO_NEWLINE: Final = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class Hunk:
    """Neighbouring changes with their surroundings; starts count from 1 on both sides.

    A line keeps its carriage return and loses its newline; NO_NEWLINE stands after a line that had
    none and is counted on neither side.
    """

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[str, ...]

    def described(self) -> dict[str, Any]:
        """The hunk under jsdiff's names."""
        return {
            "oldStart": self.old_start,
            "oldLines": self.old_lines,
            "newStart": self.new_start,
            "newLines": self.new_lines,
            "lines": list(self.lines),
        }


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A run with its lines, and where it begins on both sides, counted from 0."""

    fate: Fate
    lines: Sequence[str]
    old: int
    new: int


def structured_patch(old: str, new: str, *, effort: int = LARGEST_EFFORT) -> list[Hunk]:
    """The hunks that turn old into new; none for equal texts.

    Two texts so large and so different that the search would take longer than the effort give one
    hunk that replaces everything between their common beginning and end.
    """
    if old == new:
        return []
    return [_hunk(group) for group in _groups(_stretches(old, new, effort))]


def _stretches(old: str, new: str, effort: int) -> Iterator[_Stretch]:
    before, after = _lines(old), _lines(new)
    old_at = new_at = 0
    for run in runs_between(before, after, effort=effort):
        source, at = (after, new_at) if run.fate is Fate.ADDED else (before, old_at)
        yield _Stretch(run.fate, source[at : at + run.count], old_at, new_at)
        old_at += run.count if run.fate is not Fate.ADDED else 0
        new_at += run.count if run.fate is not Fate.REMOVED else 0


def _groups(stretches: Iterator[_Stretch]) -> Iterator[list[_Stretch]]:
    """Changes that share a hunk, with the lines kept around and between them."""
    group: list[_Stretch] = []
    ahead: _Stretch | None = None
    for stretch in stretches:
        if stretch.fate is not Fate.KEPT:
            if not group and ahead is not None:
                group.append(_ending_of(ahead))
            group.append(stretch)
            continue
        if group and len(stretch.lines) > 2 * CONTEXT_LINES:
            yield [*group, _beginning_of(stretch)]
            group = []
        if group:
            group.append(stretch)
        ahead = stretch
    if group:
        if group[-1].fate is Fate.KEPT:
            group.append(_beginning_of(group.pop()))
        yield group


def _hunk(group: Sequence[_Stretch]) -> Hunk:
    first = group[0]
    return Hunk(
        old_start=first.old + 1,
        old_lines=sum(len(part.lines) for part in group if part.fate is not Fate.ADDED),
        new_start=first.new + 1,
        new_lines=sum(len(part.lines) for part in group if part.fate is not Fate.REMOVED),
        lines=tuple(shown for part in group for line in part.lines for shown in _shown(part, line)),
    )


def _shown(part: _Stretch, line: str) -> tuple[str, ...]:
    if line.endswith("\n"):
        return (part.fate.value + line[:-1],)
    return (part.fate.value + line, NO_NEWLINE)


def _beginning_of(kept: _Stretch) -> _Stretch:
    return _Stretch(Fate.KEPT, kept.lines[:CONTEXT_LINES], kept.old, kept.new)


def _ending_of(kept: _Stretch) -> _Stretch:
    skipped = max(0, len(kept.lines) - CONTEXT_LINES)
    return _Stretch(Fate.KEPT, kept.lines[skipped:], kept.old + skipped, kept.new + skipped)


def _lines(text: str) -> list[str]:
    """Lines with their ends; only a newline ends a line, as in jsdiff."""
    *whole, rest = text.split("\n")
    return [line + "\n" for line in whole] + ([rest] if rest else [])
