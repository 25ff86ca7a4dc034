"""A repository's files as the index meets them: found, left out with a reason, or read."""

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
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
class LeftOut:
    """A file that is not indexed; with a '/' at the end of ``path``, a whole folder.

    ``detail`` is for a person and names the rule: ``.gitignore line 3: *.log``.
    """

    path: str
    reason: Reason
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
