"""Parse the citations of an answer, and verify each against the file: verified, moved, or stale.

A citation is `path:begin-end`, lines from 1. Only files that the model was shown are read.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from codekernel.domain.index import FoundFile, SourceText
from codekernel.domain.turn import Citation, CitationState, Excerpt
from codekernel.domain.untrusted_text import resolve_encoded_path
from codekernel.files.reading import read_source_file

_LINE_RANGE = r":L?(?P<begin>\d{1,7})(?:[ ]?[-\u2010-\u2015][ ]?L?(?P<end>\d{1,7}))?(?!\w|\.\w)"

_QUOTED_CITATION = re.compile(rf"`(?P<path>[^`\n:]{{1,400}}){_LINE_RANGE}`")

_PLAIN_CITATION = re.compile(
    rf"(?P<path>[^\s`\"'<>()\[\]{{}}|*,;:\u3000-\u303f]{{1,400}}){_LINE_RANGE}"
)

_EXTENSION = re.compile(r"\.[A-Za-z]\w{0,9}$")

# More are a listing rather than an answer; each costs a look at the disk.
MAX_CITATIONS = 200


def parse_citations(answer: str, known_paths: Collection[str]) -> list[Citation]:
    """Return the distinct citations of an answer; of unknown files only unambiguous ones."""
    found: dict[tuple[str, int, int], Citation] = {}
    for place in _iter_citations(answer, known_paths):
        found.setdefault((place.path, place.begin, place.end), place)
        if len(found) == MAX_CITATIONS:
            break
    return list(found.values())


def _iter_citations(answer: str, known_paths: Collection[str]) -> Iterator[Citation]:
    matches = {match.start("begin"): match for match in _PLAIN_CITATION.finditer(answer)}
    matches |= {match.start("begin"): match for match in _QUOTED_CITATION.finditer(answer)}
    for _, match in sorted(matches.items()):
        begin = int(match["begin"])
        end = int(match["end"] or begin)
        written = match["path"].strip()
        path = _resolve_path(written, known_paths)
        if path or _is_file_path(written, has_range=match["end"] is not None):
            text = match[0].strip("`")
            yield Citation(text, path or written, begin, end, CitationState.VERIFIED)


def _resolve_path(written: str, known_paths: Collection[str]) -> str | None:
    """Return the cited path: complete, or a suffix that only one known path has."""
    name = written.replace("\\", "/").removeprefix("./").lstrip("/")
    if name in known_paths:
        return name
    ends = [path for path in known_paths if name and path.endswith(f"/{name}")]
    return ends[0] if len(ends) == 1 else None


def _is_file_path(written: str, *, has_range: bool) -> bool:
    """A host with its port, or the time of day, is no file."""
    return bool(_EXTENSION.search(written)) and (has_range or "/" in written)


# Letters; a brace or a blank line stands everywhere and proves nothing.
_MIN_DISTINCTIVE_CHARS = 4

# Characters; only a line that no chunk can hold whole is shown in part.
_MIN_PARTIAL_LINE_CHARS = 200


def verify_citations(answer: str, excerpts: Iterable[Excerpt], root: Path) -> tuple[Citation, ...]:
    """Return every citation and whether the file still has there what the model was shown."""
    evidence: dict[str, dict[int, str]] = {}
    for excerpt in excerpts:
        lines = excerpt.content.split("\n")[: excerpt.end_line - excerpt.begin_line]
        numbered = enumerate(lines, start=excerpt.begin_line)
        evidence.setdefault(excerpt.path, {}).update(numbered)
    files: dict[str, list[str] | str] = {}
    found: list[Citation] = []
    for place in parse_citations(answer, evidence):
        if place.path in evidence and place.path not in files:
            files[place.path] = _read_lines(root, place.path)
        found.append(_verify_citation(place, evidence.get(place.path), files.get(place.path, "")))
    return tuple(found)


def _verify_citation(
    cited: Citation, shown: dict[int, str] | None, on_disk: Sequence[str] | str
) -> Citation:
    """Return the citation with its state, and the reason if it is stale."""
    reason = ""
    if shown is None:
        reason = "the file was not among what was retrieved"
    elif isinstance(on_disk, str):
        reason = on_disk
    else:
        numbers = [number for number in sorted(shown) if cited.begin - 1 <= number < cited.end]
        lines = {number: shown[number] for number in numbers}
        if not lines:
            reason = "these lines were not among what was retrieved"
        elif not _has_lines(on_disk, lines, 0):
            return _find_moved(cited, lines, on_disk)
        elif cited.end > len(on_disk):
            reason = f"the file has only {len(on_disk)} lines"
    return replace(cited, holds=CitationState.STALE, reason=reason) if reason else cited


def _find_moved(cited: Citation, lines: dict[int, str], on_disk: Sequence[str]) -> Citation:
    """Return where the shown lines stand now, nearest to where they stood."""
    first = min(lines)
    shifts: Iterable[int] = sorted(range(-first, len(on_disk) - first), key=abs)
    if not any(len(line.strip()) >= _MIN_DISTINCTIVE_CHARS for line in lines.values()):
        shifts = ()
    shift = next((shift for shift in shifts if _has_lines(on_disk, lines, shift)), None)
    if shift is None:
        return replace(cited, holds=CitationState.STALE, reason="the lines have changed since")
    return replace(
        cited,
        holds=CitationState.MOVED,
        now_begin=max(1, cited.begin + shift),
        now_end=min(len(on_disk), cited.end + shift),
    )


def _has_lines(on_disk: Sequence[str], lines: dict[int, str], shift: int) -> bool:
    return all(_is_same_line(line, on_disk, number + shift) for number, line in lines.items())


def _is_same_line(shown: str, on_disk: Sequence[str], number: int) -> bool:
    if not 0 <= number < len(on_disk):
        return False
    expected, actual = shown.rstrip("\r"), on_disk[number].rstrip("\r")
    return expected == actual or (len(expected) >= _MIN_PARTIAL_LINE_CHARS and expected in actual)


def _read_lines(root: Path, path: str) -> list[str] | str:
    """The lines of a file as it is now, or why there are none."""
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        return "the path leads out of the repository"  # only in a history edited by hand
    found = read_source_file(root, FoundFile(resolve_encoded_path(root, path), 0, 0))
    if not isinstance(found, SourceText):
        return f"the file cannot be read any more: {found.detail}"
    lines = found.text.split("\n")
    return lines if lines[-1] else lines[:-1]
