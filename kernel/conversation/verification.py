"""Citations held against the files: verified, moved, or stale.

Only files that the model was shown are looked at, so that no answer can make us read another.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from kernel.conversation.citations import Cited, cited
from kernel.domain.path_text import existing_path
from kernel.domain.source import FoundFile, SourceText
from kernel.domain.turn import Citation, Excerpt, Holds
from kernel.walking.reading import read

# Letters; a brace or a blank line stands everywhere and proves nothing.
_TELLING_LETTERS = 4
# Characters; only a line that no chunk can hold whole is shown in part.
_PART_OF_LINE = 200


def verified(answer: str, shown: Iterable[Excerpt], root: Path) -> tuple[Citation, ...]:
    """Every place the answer names and whether the file says there what the model was shown."""
    evidence: dict[str, dict[int, str]] = {}
    for excerpt in shown:
        lines = excerpt.content.split("\n")[: excerpt.end_line - excerpt.begin_line]
        numbered = enumerate(lines, start=excerpt.begin_line)
        evidence.setdefault(excerpt.path, {}).update(numbered)
    files: dict[str, list[str] | str] = {}
    found: list[Citation] = []
    for place in cited(answer, evidence):
        if place.path in evidence and place.path not in files:
            files[place.path] = _lines(root, place.path)
        found.append(_judged(place, evidence.get(place.path), files.get(place.path, "")))
    return tuple(found)


def _judged(place: Cited, shown: dict[int, str] | None, on_disk: Sequence[str] | str) -> Citation:
    if shown is None:
        return _stale(place, "the file was not among what was retrieved")
    if isinstance(on_disk, str):
        return _stale(place, on_disk)
    numbers = [number for number in sorted(shown) if place.begin - 1 <= number < place.end]
    if not numbers:
        return _stale(place, "these lines were not among what was retrieved")
    if all(_same(shown[number], on_disk, number) for number in numbers):
        if place.end > len(on_disk):
            return _stale(place, f"the file has only {len(on_disk)} lines")
        return _citation(place, Holds.VERIFIED)
    return _moved(place, shown, numbers, on_disk) or _stale(place, "the lines have changed since")


def _moved(
    place: Cited, shown: dict[int, str], numbers: list[int], on_disk: Sequence[str]
) -> Citation | None:
    """Where the shown lines stand now, nearest to where they stood."""
    if not any(len(shown[number].strip()) >= _TELLING_LETTERS for number in numbers):
        return None
    first = numbers[0]
    shifts = sorted(range(-first, len(on_disk) - first), key=abs)
    for shift in shifts:
        if all(_same(shown[number], on_disk, number + shift) for number in numbers):
            return Citation(
                text=place.text,
                path=place.path,
                begin=place.begin,
                end=place.end,
                holds=Holds.MOVED,
                now_begin=max(1, place.begin + shift),
                now_end=min(len(on_disk), place.end + shift),
            )
    return None


def _same(shown: str, on_disk: Sequence[str], number: int) -> bool:
    if not 0 <= number < len(on_disk):
        return False
    expected, actual = shown.rstrip("\r"), on_disk[number].rstrip("\r")
    return expected == actual or (len(expected) >= _PART_OF_LINE and expected in actual)


def _lines(root: Path, path: str) -> list[str] | str:
    """The lines of a file as it is now, or why there are none."""
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        return "the path leads out of the repository"  # only a history edited by hand says so
    found = read(root, FoundFile(existing_path(root, path), 0, 0))
    if not isinstance(found, SourceText):
        return f"the file cannot be read any more: {found.detail}"
    lines = found.text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _citation(place: Cited, holds: Holds, reason: str = "") -> Citation:
    return Citation(place.text, place.path, place.begin, place.end, holds, reason)


def _stale(place: Cited, reason: str) -> Citation:
    return _citation(place, Holds.STALE, reason)
