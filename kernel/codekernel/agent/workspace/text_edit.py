"""Text edits that keep a file's line endings.

Find and replace literal strings, detect and convert line endings, and diff two texts.
"""

import os
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.confined_path import ConfinedFiles
from codekernel.domain.diff import DiffHunk, compute_structured_patch
from codekernel.domain.index import FoundFile
from codekernel.files.encodings import is_binary
from codekernel.files.walk import FileWalker

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
