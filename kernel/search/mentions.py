"""Places in files that a query names: ``src/foo/bar.py``, ``bar.py:12``, ``bar.py#L12``."""

import re
from typing import NamedTuple

from kernel.domain.languages import UNKNOWN, language_of

# No name of a member looks like these, so ``bar.py`` alone is a file; ``request.json``, ``app.run``
# or ``foo.go`` may be code and are taken for a file only together with a folder or a line.
_ONLY_FILES = frozenset(
    [
        "py",
        "pyi",
        "js",
        "mjs",
        "cjs",
        "jsx",
        "ts",
        "tsx",
        "mts",
        "java",
        "kt",
        "kts",
        "rs",
        "cc",
        "cpp",
        "cxx",
        "hpp",
        "hh",
        "rb",
        "php",
        "swift",
        "scala",
        "lua",
        "sh",
        "hs",
        "ex",
        "exs",
        "zig",
        "sql",
        "html",
        "css",
        "scss",
        "yaml",
        "yml",
        "toml",
        "vue",
        "svelte",
        "md",
        "rst",
        "cs",
        "csproj",
        "ipynb",
        "proto",
    ]
)
_LONGEST_PATH = 500
_LINE = r"(?::(?P<line>\d{1,9})(?::\d{1,9})?|\#L(?P<anchor>\d{1,9})(?:-L?\d{1,9})?)?"
_PLACE = re.compile(
    rf"(?P<path>(?:[A-Za-z]:(?=[\\/]))?[^\s:\"'`<>|*?#,;=]{{1,{_LONGEST_PATH}}}){_LINE}"
)
_NOT_OF_A_PATH = re.compile(r"^(?:\w{2,10}:/+(?:[\w.-]+:\d+/)?|[A-Za-z]:(?=[\\/]))|\?.*$")
_WORD_OF_A_PATH = re.compile(r"[\w.@~+\-\[\]$()%{}!&/\\ ]*\w[\w.@~+\-\[\]$()%{}!&/\\ ]*")
# An extension or a line has one of these before it.
_MARKS = re.compile(r"[.:#]")
_AROUND = "()[]{}.,;!?"


class Mention(NamedTuple):
    """A file as the query names it, parts separated by '/', and a line counted from 1."""

    path: str
    line: int | None = None


def whole(text: str) -> Mention | None:
    """The place that the query is, if it is nothing else."""
    found = _PLACE.fullmatch(text.strip())
    if not found or not _WORD_OF_A_PATH.fullmatch(found["path"].partition(":")[2] or found["path"]):
        return None
    path, line = _plain(found["path"]), _line_of(found)
    if not path:
        return None
    is_file = _extension(path) in _ONLY_FILES
    has_line = line is not None and language_of(path) != UNKNOWN
    return Mention(path, line) if is_file or has_line or "/" in path.strip("/") else None


def inside(text: str) -> tuple[Mention, ...]:
    """The files that a sentence names beyond doubt, by an extension that only files have.

    Node.js and Vue.js are no files; with a folder or a line they would be.
    """
    found: dict[Mention, None] = {}
    if not _MARKS.search(text):
        return ()
    for word in text.split():
        place = _PLACE.fullmatch(word.strip(_AROUND).rstrip(":"))
        if not place or "://" in word:
            continue
        named = Mention(_plain(place["path"]), _line_of(place))
        is_file = _extension(named.path) in _ONLY_FILES
        beyond_doubt = named.line or "/" in named.path or not named.path.endswith(".js")
        if (is_file and beyond_doubt) or (named.line and language_of(named.path) != UNKNOWN):
            found[named] = None
    return tuple(found)


def mention(path: str, line: str) -> Mention:
    """A place that a tool printed."""
    return Mention(_plain(path), int(line))


def _line_of(found: re.Match[str]) -> int | None:
    line = found["line"] or found["anchor"]
    return int(line) if line else None


def _plain(path: str) -> str:
    """Without a scheme, a drive, and parts that lead nowhere."""
    path = _NOT_OF_A_PATH.sub("", path[:_LONGEST_PATH]).replace("\\", "/")
    return "/".join(part for part in path.split("/") if part not in {"", ".", "..", "~"})


def _extension(path: str) -> str:
    stem, dot, extension = path.rpartition(".")
    return extension.lower() if dot and stem.strip("./\\") else ""
