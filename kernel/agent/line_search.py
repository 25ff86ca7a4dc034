"""Lines of files in which something stands: an expression or a plain text, within a time limit."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

from kernel.agent.context import ToolContext
from kernel.agent.failing import ToolFailed
from kernel.agent.text_file import read_text
from kernel.domain.confinement.beneath import Place
from kernel.domain.confinement.files_beneath import FilesBeneath
from kernel.domain.path_text import encode_path
from kernel.domain.source import FoundFile, LeftOut, Reason
from kernel.errors import Cancelled
from kernel.search.patterns import compiled, literals, piece_length, pieces
from kernel.walking.walk import Walk

LONGEST_SHOWN_LINE = 2_000
# Not worth indexing, but whoever looks for an exact word wants it found there too.
_LOOKED_AT = frozenset({Reason.GENERATED, Reason.MINIFIED, Reason.TOO_LARGE})


@dataclass(frozen=True, slots=True)
class FoundLine:
    """``number`` counts from 1; ``path`` is relative to the root."""

    path: str
    number: int
    text: str


class LineSearch:
    """One search; ``is_complete`` turns false once time has run out."""

    def __init__(
        self,
        context: ToolContext,
        pattern: str,
        *,
        is_regex: bool = True,
        ignore_case: bool = False,
    ) -> None:
        """Raises WrongParam for an expression that is invalid, or that could run for ages."""
        if not pattern:
            raise ToolFailed("The pattern is empty: say what to look for.")
        expression = pattern if is_regex else re.escape(pattern)
        self._pattern = compiled(expression, ignore_case=ignore_case)
        self._length = piece_length(self._pattern)
        self._held = [] if self._ignores_case() else literals(self._pattern)
        self._context = context
        self._deadline = time.monotonic() + context.limits.seconds
        self.is_complete = True

    def in_file(self, place: Place, path: str) -> Iterator[FoundLine]:
        """Lines of one file, whatever rules say of it; ToolFailed if it is no text."""
        file = read_text(place, path, self._context.limits.file_bytes)
        yield from self.in_text("/".join(place.parts), file.text)

    def below(self, place: Place) -> Iterator[FoundLine]:
        """Lines of the files of a folder that no ignore rule leaves out, by path.

        Raises OSError if the folder cannot be opened.
        """
        prefix = "".join(f"{part}/" for part in place.parts)
        with FilesBeneath(place.open_folder(), place.path) as files:
            for found in Walk(place.path, place.open_folder).files(self._context.cancel):
                if not self._in_time():
                    return
                path = prefix + found.path
                text = self._text(files, found.path) if _is_looked_at(found) else ""
                yield from self.in_text(path, text)

    def _text(self, files: FilesBeneath, path: str) -> str:
        try:
            return read_text(files.at(path), path, self._context.limits.file_bytes).text
        except (OSError, ToolFailed):  # binary, gone, or too large
            return ""

    def in_text(self, path: str, text: str) -> Iterator[FoundLine]:
        """Lines of a text that stands in the file of this path."""
        if any(held not in text for held in self._held):
            return
        for number, line in enumerate(text.split("\n"), start=1):
            plain = line.removesuffix("\r")
            if any(held not in plain for held in self._held):
                continue
            # The clock costs less than any expression.
            if not self._in_time():
                return
            if self._stands_in(plain):
                yield FoundLine(encode_path(path), number, _shown(plain))

    def _stands_in(self, line: str) -> bool:
        return any(
            self._pattern.search(piece)
            for piece in pieces(line, self._length)
            if len(line) <= self._length or self._in_time()
        )

    def _in_time(self) -> bool:
        if self._context.cancel.cancelled:
            raise Cancelled("the search was cancelled")
        self.is_complete = self.is_complete and time.monotonic() < self._deadline
        return self.is_complete

    def _ignores_case(self) -> bool:
        return bool(self._pattern.flags & re.IGNORECASE)


def _is_looked_at(found: FoundFile | LeftOut) -> bool:
    if isinstance(found, FoundFile):
        return True
    return found.reason in _LOOKED_AT and not found.path.endswith("/")


def _shown(line: str) -> str:
    if len(line) <= LONGEST_SHOWN_LINE:
        return line
    return f"{line[:LONGEST_SHOWN_LINE]} [... {len(line) - LONGEST_SHOWN_LINE:,} more characters]"
