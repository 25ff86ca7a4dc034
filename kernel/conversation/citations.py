"""Places that an answer names, as the prompts ask for them: ``path:begin-end``, lines from 1."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

_LINES = r":L?(?P<begin>\d{1,7})(?:[ ]?[-\u2010-\u2015][ ]?L?(?P<end>\d{1,7}))?(?!\w|\.\w)"
_IN_CODE = re.compile(rf"`(?P<path>[^`\n:]{{1,400}}){_LINES}`")
_PLAIN = re.compile(rf"(?P<path>[^\s`\"'<>()\[\]{{}}|*,;:\u3000-\u303f]{{1,400}}){_LINES}")
_EXTENSION = re.compile(r"\.[A-Za-z]\w{0,9}$")
# More are a listing rather than an answer; each costs a look at the disk.
MOST_CITATIONS = 200


@dataclass(frozen=True, slots=True)
class Cited:
    """What the answer says: ``text`` letter by letter, ``path`` as it is in the repository."""

    text: str
    path: str
    begin: int
    end: int


def cited(answer: str, known_paths: Collection[str]) -> list[Cited]:
    """The distinct places of an answer, in order; of unknown files only what must be meant so."""
    found: dict[tuple[str, int, int], Cited] = {}
    for place in _places(answer, known_paths):
        found.setdefault((place.path, place.begin, place.end), place)
        if len(found) == MOST_CITATIONS:
            break
    return list(found.values())


def _places(answer: str, known_paths: Collection[str]) -> Iterator[Cited]:
    matches = {match.start("begin"): match for match in _PLAIN.finditer(answer)}
    matches |= {match.start("begin"): match for match in _IN_CODE.finditer(answer)}
    for _, match in sorted(matches.items()):
        begin = int(match["begin"])
        end = int(match["end"] or begin)
        written = match["path"].strip()
        path = _known(written, known_paths)
        if path is None and not _must_be_a_file(written, has_range=match["end"] is not None):
            continue
        yield Cited(match[0].strip("`"), path or written, begin, end)


def _known(written: str, known_paths: Collection[str]) -> str | None:
    """The path that is meant: written out, or so much of its end that only one can be."""
    name = written.replace("\\", "/").removeprefix("./").lstrip("/")
    if name in known_paths:
        return name
    ends = [path for path in known_paths if name and path.endswith(f"/{name}")]
    return ends[0] if len(ends) == 1 else None


def _must_be_a_file(written: str, *, has_range: bool) -> bool:
    """A host with its port, or the time of day, is no file."""
    return bool(_EXTENSION.search(written)) and (has_range or "/" in written)
