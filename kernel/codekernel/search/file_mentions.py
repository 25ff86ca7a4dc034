"""Find the files, perhaps with a line, that a query mentions."""

import re
from typing import NamedTuple

from codekernel.domain.index import UNKNOWN_LANGUAGE, detect_language

# No member of a class has such a name, so ``bar.py`` alone is a file; ``request.json``, ``app.run``
# or ``foo.go`` may be code and are files only together with a folder or a line.
_FILE_ONLY_EXTENSION_TEXT = (
    "py pyi js mjs cjs jsx ts tsx mts java kt kts rs cc cpp cxx hpp hh rb php swift scala lua sh "
    "hs ex exs zig sql html css scss yaml yml toml vue svelte md rst cs csproj ipynb proto"
)
_FILE_ONLY_EXTENSIONS = frozenset(_FILE_ONLY_EXTENSION_TEXT.split())

_MAX_PATH_CHARS = 500
_LINE_SUFFIX = r"(?::(?P<line>\d{1,9})(?::\d{1,9})?|\#L(?P<anchor>\d{1,9})(?:-L?\d{1,9})?)?"

_FILE_MENTION = re.compile(
    rf"(?P<path>(?:[A-Za-z]:(?=[\\/]))?[^\s:\"'`<>|*?#,;=]{{1,{_MAX_PATH_CHARS}}}){_LINE_SUFFIX}"
)

_URL_OR_DRIVE_PREFIX = re.compile(r"^(?:\w{2,10}:/+(?:[\w.-]+:\d+/)?|[A-Za-z]:(?=[\\/]))|\?.*$")
_PATH_CHARACTERS = re.compile(r"[\w.@~+\-\[\]$()%{}!&/\\ ]*\w[\w.@~+\-\[\]$()%{}!&/\\ ]*")

# What comes before an extension or a line, or separates folders: without any, no file is mentioned.
MENTION_MARKS = re.compile(r"[.:#/\\]")
_SURROUNDING_PUNCTUATION = "()[]{}.,;!?"


class FileMention(NamedTuple):
    """A path as the query mentions it, separated by '/', and a line counted from 1."""

    path: str
    line: int | None = None


def parse_file_mention(text: str) -> FileMention | None:
    """Return the file that the whole text is, if it is one."""
    found = _FILE_MENTION.fullmatch(text.strip())
    path = found["path"].partition(":")[2] or found["path"] if found else ""
    if not found or not _PATH_CHARACTERS.fullmatch(path):
        return None
    mention = _build_mention(found)
    is_file = _is_file_name(mention) or _is_source_line(mention) or "/" in mention.path
    return mention if mention.path and is_file else None


def find_file_mentions(text: str) -> tuple[FileMention, ...]:
    """Return the files that a sentence certainly mentions, by extensions that only files have.

    Node.js and Vue.js are no files; with a folder or a line they would be.
    """
    found: dict[FileMention, None] = {}
    for word in text.split():
        match = _FILE_MENTION.fullmatch(word.strip(_SURROUNDING_PUNCTUATION).rstrip(":"))
        if not match or "://" in word:
            continue
        mention = _build_mention(match)
        is_certain = mention.line or "/" in mention.path or not mention.path.endswith(".js")
        if (_is_file_name(mention) and is_certain) or (mention.line and _is_source_line(mention)):
            found[mention] = None
    return tuple(found)


def _build_mention(match: re.Match[str]) -> FileMention:
    line = match["line"] or match["anchor"]
    return FileMention(normalize_path(match["path"]), int(line) if line else None)


def _is_file_name(mention: FileMention) -> bool:
    name, dot, extension = mention.path.rpartition(".")
    return bool(dot and name.strip("./\\")) and extension.lower() in _FILE_ONLY_EXTENSIONS


def _is_source_line(mention: FileMention) -> bool:
    return mention.line is not None and detect_language(mention.path) != UNKNOWN_LANGUAGE


def normalize_path(path: str) -> str:
    """Return the path without a scheme, a drive, and parts like "..", separated by '/'."""
    path = _URL_OR_DRIVE_PREFIX.sub("", path[:_MAX_PATH_CHARS]).replace("\\", "/")
    return "/".join(part for part in path.split("/") if part not in {"", ".", "..", "~"})
