"""Whether a text is a copy of one of the benchmark's files: whole, or line by line, by hash.

A fork or a vendored copy has other names and edits here and there, but mostly the same lines.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import beside  # noqa: F401 - makes the next one importable
from static_text import LANGUAGES

MIN_LINE = 20  # characters; shorter ones are everybody's
MARKS = " \t/*#;-!<>"  # of comments
MAX_REPOSITORIES = 2  # a line in more of them is everybody's too
MIN_LINES = 10  # in common
MIN_SHARE = 0.3  # of a text's own lines
IMPORTS = (
    *("import ", "from ", "include ", "using ", "use ", "pub use ", "mod "),
    *("package ", "namespace ", "require", "open ", "@import ", "export * from "),
)
LICENCE = re.compile(
    r"copyright|licen[cs]|warrant|redistribut|liab|permission|provided (?:by|with|that)|\bas is\b",
    re.IGNORECASE,
)
LICENCE_REACH = 3  # lines before and after


@dataclass(frozen=True, slots=True)
class Copy:
    """Which file of the benchmark a text is like, and how much: the share of its own lines."""

    origin: str
    share: float
    equal: bool = False


class Benchmark:
    """The hashes of the files and lines of all repositories in a folder."""

    def __init__(self, repositories: Path) -> None:
        self._paths: list[str] = []
        self._wholes: dict[bytes, str] = {}
        self._owners: dict[int, int] = {}  # of a line: one bit for each repository
        self._first: dict[int, int] = {}  # path of a line
        self._names = sorted(one.name for one in repositories.iterdir() if one.is_dir())
        for number, name in enumerate(self._names):
            for file in sorted((repositories / name).rglob("*")):
                if file.suffix[1:].lower() in LANGUAGES and file.is_file():
                    path = str(file.relative_to(repositories))
                    self._add(number, path, file.read_text(encoding="utf-8", errors="ignore"))
        if not self._paths:
            raise SystemExit(f"{repositories} has no repositories to compare with.")

    def __str__(self) -> str:
        sizes = len(self._names), len(self._paths), len(self._owners)
        return "{} repositories of the benchmark, {} files, {} different lines".format(*sizes)

    def copied(self, text: str) -> Copy | None:
        """What ``text`` is a copy of, if it is one."""
        if path := self._wholes.get(whole(text)):
            return Copy(path, 1, equal=True)
        if sum(line in self._owners for line in lines(text)) < MIN_LINES:
            return None
        mine = lines(_without_licence(text))
        shared = [line for line in mine if line in self._owners]
        telling = [one for one in shared if self._owners[one].bit_count() <= MAX_REPOSITORIES]
        own = len(mine) - len(shared) + len(telling)
        found = Counter(number for line in telling for number in _bits(self._owners[line]))
        repository, count = max(found.items(), key=lambda one: one[1], default=(0, 0))
        if count < max(MIN_LINES, MIN_SHARE * own):
            return None
        origins = Counter(
            self._first[line] for line in telling if self._owners[line] >> repository & 1
        )
        return Copy(self._paths[origins.most_common(1)[0][0]], count / own)

    def _add(self, repository: int, path: str, text: str) -> None:
        if text.strip():
            self._wholes.setdefault(whole(text), path)
        for line in lines(text):
            self._owners[line] = self._owners.get(line, 0) | 1 << repository
            self._first.setdefault(line, len(self._paths))
        self._paths.append(path)


def whole(text: str) -> bytes:
    """The hash of a text without its white space."""
    return hashlib.sha256("".join(text.split()).encode()).digest()


def lines(text: str) -> set[int]:
    """The hashes of the lines that say something."""
    return {
        hash(line)
        for line in {line.strip(MARKS) for line in text.splitlines()}
        if len(line) >= MIN_LINE and not line.startswith(IMPORTS)
    }


def _without_licence(text: str) -> str:
    rows = text.splitlines()
    left_out = {
        near
        for number, row in enumerate(rows)
        if LICENCE.search(row)
        for near in range(number - LICENCE_REACH, number + LICENCE_REACH + 1)
    }
    return "\n".join(row for number, row in enumerate(rows) if number not in left_out)


def _bits(mask: int) -> Iterator[int]:
    return (number for number in range(mask.bit_length()) if mask >> number & 1)
