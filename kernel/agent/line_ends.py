"""A text that is edited as if every line ended with a newline, and whose line ends stay its own.

Models write newlines, files have carriage returns too, sometimes only in places. ``view`` has
newlines alone; a place in it is a place in the text, so that whatever is not touched stays as it
is, and what is put in gets the line end that most lines of the file have.
"""

import re
from bisect import bisect_left
from dataclasses import dataclass

CRLF, LF = "\r\n", "\n"
_LF_ALONE = re.compile(r"(?<!\r)\n")


@dataclass(frozen=True, slots=True)
class EditedText:
    """A text between two edits."""

    text: str
    line_end: str
    view: str
    # Where in the view a newline stands for two characters of the text.
    _doubled: tuple[int, ...]

    @classmethod
    def of(cls, text: str, line_end: str | None = None) -> "EditedText":
        """A text as it was read; ``line_end`` if that of a former state goes on to hold."""
        doubled = tuple(
            found.start() - before for before, found in enumerate(re.finditer(CRLF, text))
        )
        view = text.replace(CRLF, LF) if doubled else text
        return cls(text, line_end or main_line_end(text), view, doubled)

    def replaced(self, start: int, end: int, content: str) -> "EditedText":
        """The text with another content between two places of the view."""
        text = self.text[: self._place(start)] + self.own(content) + self.text[self._place(end) :]
        return EditedText.of(text, self.line_end)

    def own(self, content: str) -> str:
        """A content with the line ends of this text."""
        return with_line_ends(content, self.line_end) if self.line_end else content

    def _place(self, place: int) -> int:
        return place + bisect_left(self._doubled, place)


def main_line_end(text: str) -> str:
    """The line end that most lines have; empty if there is none to go by."""
    doubled, plain = text.count(CRLF), len(_LF_ALONE.findall(text))
    if not doubled and not plain:
        return ""
    return CRLF if doubled > plain else LF


def with_line_ends(content: str, line_end: str) -> str:
    """A content whose lines all end so; carriage returns inside lines stay."""
    plain = content.replace(CRLF, LF)
    return plain.replace(LF, CRLF) if line_end == CRLF else plain
