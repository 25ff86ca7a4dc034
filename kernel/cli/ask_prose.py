"""Running text on a terminal: styled words, wrapped between words while they arrive."""

from dataclasses import dataclass, field

from kernel.cli.search_terminal import Screen, columns
from kernel.domain.terminal_text import escape_line

# A terminal narrower than this is wrapped by itself; words would stand one below the other.
NARROWEST_ROOM = 20
# Lines longer than this are hard to read, however wide the terminal is.
WIDEST_ROOM = 100
_WIDE = 2


@dataclass(slots=True)
class Prose:
    """The line being written; what can be shown is taken with ``taken``."""

    screen: Screen
    _out: list[str] = field(default_factory=list)
    # The last word stays back until it is whole, for it may have to begin the next line.
    _word: list[tuple[str, str]] = field(default_factory=list)
    _blank: str = ""
    _column: int = 0
    _hanging: str = ""

    @property
    def is_mid_line(self) -> bool:
        """Whether something stands on the line, shown or not."""
        return bool(self._column or self._word)

    def begin(self, prefix: str, hanging: str, code: str = "") -> None:
        """Start a line with a sign; lines that it is wrapped into start with ``hanging``."""
        self._hanging = hanging
        self._blank = ""
        self._column = columns(prefix)
        self._out.append(self.screen.painted(prefix, code))

    def add(self, text: str, code: str) -> None:
        """Go on with the word; Chinese and the like may be broken between any two characters."""
        for character in text:
            if character in " \t":
                self.blank()
            elif columns(character) == _WIDE:
                self._flush()
                self._word.append((character, code))
                self._flush()
            elif self._word and self._word[-1][1] == code:
                self._word[-1] = (self._word[-1][0] + character, code)
            else:
                self._word.append((character, code))

    def blank(self) -> None:
        """The word is whole."""
        self._flush()
        if self._column > columns(self._hanging):
            self._blank = " "

    def line(self, text: str) -> None:
        """A line as it is, codes included."""
        self._out.append(f"{text}\n")

    def end_line(self) -> None:
        """The line is over."""
        self._flush()
        self._out.append("\n")
        self._blank, self._column = "", 0

    def taken(self) -> str:
        """What can be shown now; it is never changed afterwards."""
        out = "".join(self._out)
        self._out.clear()
        return out

    def _flush(self) -> None:
        if not self._word:
            return
        pieces = [(escape_line(text), code) for text, code in self._word]
        self._word.clear()
        width = sum(columns(text) for text, _ in pieces)
        room = min(self.screen.width, WIDEST_ROOM)
        fits = self._column + len(self._blank) + width <= room
        if not fits and room >= NARROWEST_ROOM and self._column > columns(self._hanging):
            self._out.append(f"\n{self._hanging}")
            self._column = columns(self._hanging)
        elif self._blank:
            self._out.append(self._blank)
            self._column += 1
        self._blank = ""
        self._out += [self.screen.painted(text, code) for text, code in pieces]
        self._column += width
