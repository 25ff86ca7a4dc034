"""Text files as tools see them, and edits that keep their line endings.

Read with encoding and byte order mark, checked to be written back byte for byte; FileStates
remembers the state in which each file was last read or written. Literal strings are found and
replaced, line endings detected and converted, two texts compared.
"""

import codecs
import hashlib
import os
import re
import stat
import threading
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from codekernel.agent.tool_policy import ToolError, translate_os_errors
from codekernel.agent.workspace.atomic_write import is_same_state
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.confined_path import ConfinedFiles, ConfinedPath
from codekernel.domain.diff import DiffHunk, compute_structured_patch
from codekernel.domain.index import FoundFile
from codekernel.files.encodings import DAMAGED_UTF_8, decode_text, is_binary
from codekernel.files.walk import FileWalker

# By the mark: its bytes, and the encoding of what follows it.
_BOM_ENCODINGS = {
    "utf-8-sig": ((codecs.BOM_UTF8, "utf-8"),),
    "utf-16": ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")),
    "utf-32": ((codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be")),
}


@dataclass(frozen=True, slots=True)
class TextEncoding:
    """The encoding of a file, with its byte order mark."""

    codec: str = "utf-8"
    bom: bytes = b""
    errors: str = "strict"

    def encode(self, text: str, display_path: str) -> bytes:
        """Encode a text. Raises ToolError with the first character that cannot be written."""
        try:
            return self.bom + text.encode(self.codec, self.errors)
        except UnicodeEncodeError as error:
            bad = error.object[error.start]
            raise ToolError(
                f"{display_path} is written in {self.codec}, which has no character {bad!r}"
                f" (U+{ord(bad):04X}): leave it out, or write it another way."
            ) from None


@dataclass(frozen=True, slots=True)
class TextFile:
    """One state of a file; ``display_path`` is for messages, ``text`` has no byte order mark."""

    path: Path
    display_path: str
    text: str
    encoding: TextEncoding
    data: bytes
    status: os.stat_result

    @property
    def sha256(self) -> str:
        """The digest of the whole file, as bytes on disk."""
        return hash_bytes(self.data)


def hash_bytes(data: bytes) -> str:
    """The sha256 that clients compare."""
    return hashlib.sha256(data).hexdigest()


def read_file_bytes(
    place: ConfinedPath, display_path: str, max_bytes: int
) -> tuple[bytes, os.stat_result]:
    """Read all bytes of a regular file. Raises ToolError."""
    with translate_os_errors(display_path):
        try:
            # Opening a device can do something to it, so what is no file is not even opened.
            _check_regular_file(display_path, place.require_status(), max_bytes)
            descriptor = place.open_file()
        except FileNotFoundError as error:
            raise ToolError(f"File not found: {display_path}") from error
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        _check_regular_file(display_path, status, max_bytes)
        data = file.read(status.st_size + 1)
    if len(data) != status.st_size:
        raise ToolError(f"{display_path} is being written to by someone else: try again.")
    return data, status


def read_text_file(place: ConfinedPath, display_path: str, max_bytes: int) -> TextFile:
    """Read a text file. Raises ToolError if it is none, or could not be written back."""
    data, status = read_file_bytes(place, display_path, max_bytes)
    decoded = decode_text(data)
    if decoded is None:
        kind = "is a binary file" if is_binary(data) else "is in no encoding that is recognised"
        raise ToolError(f"{display_path} {kind}: it has no text to read or edit.")
    if decoded.encoding == DAMAGED_UTF_8:
        encoding = TextEncoding(errors="surrogateescape")
        text = data.decode(encoding.codec, encoding.errors)
    else:
        encoding, text = _detect_encoding(decoded.encoding, data), decoded.text
    return TextFile(place.path, display_path, text, encoding, data, status)


def check_round_trip(file: TextFile) -> None:
    """Raise ToolError if the unchanged text would not be written back byte for byte."""
    if file.encoding.encode(file.text, file.display_path) != file.data:
        raise ToolError(
            f"{file.display_path} is in an encoding ({file.encoding.codec}) in which it cannot be"
            " written back exactly: convert it to UTF-8 first."
        )


def reject_surrogates(content: str, name: str = "content") -> None:
    """Raise ToolError if a text that is to be written has lone surrogates."""
    if not content.isascii() and any("\ud800" <= character <= "\udfff" for character in content):
        raise ToolError(f"`{name}` has half of a surrogate pair in it, which is no character.")


def _detect_encoding(name: str, data: bytes) -> TextEncoding:
    for mark, codec in _BOM_ENCODINGS.get(name, ()):
        if data.startswith(mark):
            return TextEncoding(codec, mark)
    return TextEncoding(name)


def _check_regular_file(display_path: str, status: os.stat_result, max_bytes: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise ToolError(f"{display_path} is a folder, not a file.")
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{display_path} is not a file with text in it.")
    if status.st_size > max_bytes:
        raise ToolError(
            f"{display_path} is too large: it has more than {max_bytes:,} bytes"
            f" ({status.st_size:,}). Look for the part that matters with search_context, or use a"
            " command."
        )


class FileStates:
    """The states in which files were last read or written; safe to use from several threads."""

    def __init__(self) -> None:
        self._states: dict[Path, os.stat_result] = {}
        self._lock = threading.Lock()

    def record(self, path: Path, status: os.stat_result) -> None:
        """Record the state in which a file was read or written."""
        with self._lock:
            self._states[path] = status

    def has_state(self, path: Path) -> bool:
        """Return whether the file was read or written before."""
        with self._lock:
            return path in self._states

    def is_stale(self, path: Path, status: os.stat_result) -> bool:
        """Return whether a recorded file has changed since."""
        with self._lock:
            known = self._states.get(path)
        return known is not None and not is_same_state(status, known)


CRLF, LF = "\r\n", "\n"

_BARE_LF = re.compile(r"(?<!\r)\n")


@dataclass(frozen=True, slots=True)
class EditableText:
    """A text between two edits."""

    text: str
    line_ending: str
    view: str
    # Where in the view a newline stands for two characters of the text.
    _crlf_offsets: tuple[int, ...]

    @classmethod
    def from_text(cls, text: str, line_ending: str | None = None) -> "EditableText":
        """A text as it was read; ``line_end`` if that of a former state goes on to hold."""
        doubled = tuple(
            found.start() - before for before, found in enumerate(re.finditer(CRLF, text))
        )
        view = text.replace(CRLF, LF) if doubled else text
        return cls(text, line_ending or detect_line_ending(text), view, doubled)

    def replace(self, start: int, end: int, content: str) -> "EditableText":
        """The text with another content between two places of the view."""
        # Before the place, a newline of the view stands for two characters of the text.
        start, end = (place + bisect_left(self._crlf_offsets, place) for place in (start, end))
        text = self.text[:start] + self.adapt_line_endings(content) + self.text[end:]
        return EditableText.from_text(text, self.line_ending)

    def adapt_line_endings(self, content: str) -> str:
        """A content with the line ends of this text."""
        return convert_line_endings(content, self.line_ending) if self.line_ending else content


def detect_line_ending(text: str) -> str:
    """Return the line end of most lines; empty if the text has none."""
    doubled, plain = text.count(CRLF), len(_BARE_LF.findall(text))
    if not doubled and not plain:
        return ""
    return CRLF if doubled > plain else LF


def convert_line_endings(content: str, line_ending: str) -> str:
    """Convert all line ends; carriage returns inside lines stay."""
    plain = content.replace(CRLF, LF)
    return plain.replace(LF, CRLF) if line_ending == CRLF else plain


# As the clients of these tools judge it: a file's beginning decides.
LINE_ENDING_SAMPLE_CHARACTERS: Final = 4096

Span = tuple[int, int]


def find_occurrences(text: str, wanted: str) -> list[Span]:
    """Where a string occurs, from the start, no two overlapping; it is not empty."""
    lines = map(re.escape, wanted.replace(CRLF, LF).split(LF))
    return [found.span() for found in re.finditer(r"\r?\n".join(lines), text)]


def replace_spans(text: str, spans: Sequence[Span], content: str) -> str:
    """The text with another content in these places; nothing in it is a pattern."""
    ends = [0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(text)]
    return content.join(text[end:start] for end, start in zip(ends, starts, strict=True))


def extend_over_newline(text: str, span: Span) -> Span:
    """The place and the line end behind it, if one follows at once."""
    start, end = span
    newline = next((each for each in (LF, CRLF) if text.startswith(each, end)), "")
    return start, end + len(newline)


def adapt_line_endings(text: str, content: str) -> str:
    """A content that is to stand in a text: carriage returns are added, never taken away."""
    is_crlf = detect_line_ending(text[:LINE_ENDING_SAMPLE_CHARACTERS]) == CRLF
    return convert_line_endings(content, CRLF) if is_crlf else content


# As the clients of these tools judge it: more than three of fifteen files.
LINE_ENDING_SAMPLE_FILES: Final = 15

MIN_CRLF_FILES: Final = 4


def detect_repository_line_ending(root: WorkspaceRoot, cancel: CancelToken) -> str:
    """CRLF if several of the first files of the repository have it, else LF."""
    with ConfinedFiles(root.open_folder(), root.folder) as files:
        met = FileWalker(root.folder, root.open_folder).iterate_files(cancel)
        sample = islice(
            (file.path for file in met if isinstance(file, FoundFile)), LINE_ENDING_SAMPLE_FILES
        )
        with_carriage_returns = sum(_is_crlf_file(files, path) for path in sample)
    return CRLF if with_carriage_returns >= MIN_CRLF_FILES else LF


def _is_crlf_file(files: ConfinedFiles, path: str) -> bool:
    try:
        with os.fdopen(files.locate(path).open_file(), "rb") as file:
            head = file.read(LINE_ENDING_SAMPLE_CHARACTERS) or b""
    except OSError:
        return False
    return not is_binary(head) and detect_line_ending(head.decode("latin-1")) == CRLF


_MAX_DIFF_CHARACTERS = 200_000


@dataclass(frozen=True, slots=True)
class UnifiedDiff:
    """A unified diff and the numbers of lines it adds and removes."""

    text: str
    added: int
    deleted: int


def compute_diff(path: str, before: str, after: str) -> UnifiedDiff:
    """Between two texts of one file; the diff of a very large change is cut off."""
    hunks = compute_structured_patch(before, after)
    text = "".join([f"--- a/{path}\n+++ b/{path}\n", *map(_format_hunk, hunks)]) if hunks else ""
    if len(text) > _MAX_DIFF_CHARACTERS:
        end = text.rfind("\n", 0, _MAX_DIFF_CHARACTERS) + 1
        text = f"{text[:end]}[... the diff is longer ...]\n"
    return UnifiedDiff(text, *_count_changed_lines(hunks))


def _count_changed_lines(hunks: Sequence[DiffHunk]) -> tuple[int, int]:
    """Return the numbers of added and of removed lines."""
    marks = [line[:1] for hunk in hunks for line in hunk.lines]
    return marks.count("+"), marks.count("-")


def _format_hunk(hunk: DiffHunk) -> str:
    old = _format_range(hunk.old_start, hunk.old_lines)
    new = _format_range(hunk.new_start, hunk.new_lines)
    return "\n".join((f"@@ -{old} +{new} @@", *hunk.lines, ""))


def _format_range(start: int, lines: int) -> str:
    """Format a range as diff does: an empty side begins after the line before it."""
    return f"{start},{lines}" if lines else f"{start - 1},0"


def make_absolute(root: WorkspaceRoot, path: str) -> str:
    """Return a path made absolute, not resolved."""
    return path if Path(path).is_absolute() else os.path.normpath(root.folder / path)


def format_line_counts(hunks: Sequence[DiffHunk]) -> str:
    """Return the numbers of added and removed lines, for a model."""
    added, removed = _count_changed_lines(hunks)
    return f"+{added} -{removed} lines"
