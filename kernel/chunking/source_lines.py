r"""The lines of a text: where they begin, and what is in them.

A line ends with "\n", as tree-sitter and editors count for "\n" and "\r\n"; a lone "\r" is
white space inside its line.
"""

from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class SourceLines:
    """``starts`` has one entry more than there are lines: the length of the text."""

    text: str
    starts: list[int]
    stripped: list[str]

    @property
    def count(self) -> int:
        """How many lines there are; a text that ends with a newline has none after it."""
        return len(self.stripped)

    def indentation(self, number: int) -> int:
        """How many characters of white space line ``number`` begins with."""
        line = self.text[self.starts[number] : self.starts[number + 1]]
        return len(line) - len(line.lstrip())


def lines_of(text: str) -> SourceLines:
    r"""The lines of ``text``."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    # One more than the length of each for its newline; the last line may have none.
    starts = list(accumulate([len(line) + 1 for line in lines], initial=0))
    starts[-1] = len(text)
    return SourceLines(text, starts, [line.strip() for line in lines])
