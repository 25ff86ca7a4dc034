"""Source files: found, skipped with a reason, or read; language detection by file name.

The table of languages is languages.txt.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class SkipReason(StrEnum):
    """Why a file is not indexed; the words are stored and shown, so they stay as they are."""

    IGNORED = "ignored"  # by .gitignore, .codekernelignore, git's excludes or a built-in rule
    TOO_LARGE = "too-large"
    BINARY = "binary"
    MINIFIED = "minified"
    GENERATED = "generated"  # says so itself, or is a lock file or a source map
    LINK = "link"  # leads to a place inside the repository, where the file is indexed
    OUTSIDE = "outside"  # a link, or a path asked for, that leaves the repository
    NOT_A_FILE = "not-a-file"  # a pipe, socket, device, or a folder
    UNREADABLE = "unreadable"  # the system refuses
    UNDECODABLE = "undecodable"  # no encoding we know makes text of it
    CHANGING = "changing"  # written to faster than it could be read
    VANISHED = "vanished"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to index; ``path`` is relative, '/'-separated, odd bytes in it as surrogates."""

    path: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class SkippedPath:
    """A file that is not indexed; with a '/' at the end of ``path``, a whole folder.

    ``detail`` is for a person and names the rule: ``.gitignore line 3: *.log``.
    """

    path: str
    reason: SkipReason
    detail: str


@dataclass(frozen=True, slots=True)
class SourceText:
    """The text of a file, line ends as they are, a byte order mark taken off.

    ``digest`` is of the raw bytes; size and time of change are those the bytes were read at.
    """

    text: str
    encoding: str
    size: int
    mtime_ns: int
    digest: bytes


def _read_language_table() -> tuple[dict[str, str], dict[str, str]]:
    by_extension: dict[str, str] = {}
    by_name: dict[str, str] = {}
    table = Path(__file__).with_name("languages.txt").read_text("utf-8")
    for line in table.splitlines()[1:]:
        language, _, rest = line.partition(":")
        extensions, _, names = rest.partition("|")
        by_extension |= dict.fromkeys(extensions.split(), language)
        by_name |= dict.fromkeys(names.split(), language)
    return by_extension, by_name


_LANGUAGE_BY_EXTENSION, _LANGUAGE_BY_NAME = _read_language_table()

LANGUAGE_NAMES = tuple(dict.fromkeys(_LANGUAGE_BY_EXTENSION.values()))

UNKNOWN_LANGUAGE = "text"


def detect_language(path: str) -> str:
    """Return the language of the file at ``path`` by its name, or UNKNOWN_LANGUAGE."""
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    stem, _, extension = name.rpartition(".")
    return (
        _LANGUAGE_BY_NAME.get(name)
        or (_LANGUAGE_BY_EXTENSION.get(extension) if stem else None)
        # Dockerfile.dev, Makefile.am
        or _LANGUAGE_BY_NAME.get(name.partition(".")[0], UNKNOWN_LANGUAGE)
    )
