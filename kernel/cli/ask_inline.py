"""Markdown inside a line: code, emphasis, links; read as far as it can be understood yet."""

import re

from kernel.cli.ask_prose import Prose
from kernel.cli.search_terminal import FAINT, STRING

CODE = STRING
BOLD, ITALIC = "1", "3"
# What is never closed on its line is text; after this many characters nobody waits for its end.
LONGEST_HELD = 300

_PLAIN = re.compile(r"[^\n\\`*\[ \t]+")
_TICKS = re.compile(r"`+")
_STARS = re.compile(r"\*+")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_LINK = re.compile(r"\[([^\[\]\n]+)\]\(([^()\s]+)\)")
_BEGUN_LINK = re.compile(r"\[[^\[\]\n]*(?:\](?:\([^()\s]*)?)?")


class Inline:
    """The styles in force on one line of prose."""

    def __init__(self, prose: Prose) -> None:
        self._prose = prose
        self._base = ""
        self._bold = self._italic = False
        self._after_blank = True
        self._final = False

    def begin(self, base: str = "") -> None:
        """A new line, all of it in the style ``base``."""
        self._base = base
        self._bold = self._italic = False
        self._after_blank = True

    def read(self, held: str, *, final: bool) -> int:
        """Take one piece off the front of ``held``, which has no line end at its front.

        How many characters it had; 0 if more must arrive before it can be understood.
        """
        self._final = final
        # What follows is all there will be of the line, or more than anybody waits for.
        decided = final or "\n" in held or len(held) > LONGEST_HELD
        first = held[0]
        if first in " \t":
            self._prose.blank()
            self._after_blank = True
            return 1
        length = {"`": self._code, "*": self._stars, "[": self._link, "\\": self._escaped}.get(
            first, self._plain
        )(held, decided)
        if length:
            self._after_blank = False
        return length

    def _add(self, text: str, *codes: str) -> None:
        styles = [self._base, BOLD * self._bold, ITALIC * self._italic, *codes]
        self._prose.add(text, ";".join(filter(None, styles)))

    def _plain(self, held: str, _decided: bool) -> int:  # noqa: FBT001 - of a table
        found = _PLAIN.match(held)
        text = found.group() if found else held[0]
        self._add(text)
        return len(text)

    def _literal(self, text: str) -> int:
        self._add(text)
        return len(text)

    def _code(self, held: str, decided: bool) -> int:  # noqa: FBT001 - of a table
        ticks = len(held) - len(held.lstrip("`"))
        if ticks == len(held) and not decided:
            return 0
        line = held.partition("\n")[0]
        for close in _TICKS.finditer(line, ticks):
            is_whole = self._final or close.end() < len(held)
            if len(close.group()) == ticks and is_whole and close.end() <= LONGEST_HELD:
                inside = line[ticks : close.start()]
                self._add(inside.strip() or inside, CODE)
                return close.end()
        return self._literal(held[:ticks]) if decided else 0

    def _stars(self, held: str, decided: bool) -> int:  # noqa: FBT001 - of a table
        stars = _STARS.match(held)
        count = len(stars.group()) if stars else 1
        if count == len(held) and not decided:
            return 0
        before_word = count < len(held) and not held[count].isspace()
        bold, italic = count in {2, 3}, count in {1, 3}
        closes = (not bold or self._bold) and (not italic or self._italic)
        if count <= 3 and (  # noqa: PLR2004 - emphasis has at most three
            (closes and not self._after_blank) or (not closes and before_word)
        ):
            self._bold ^= bold
            self._italic ^= italic
            return count
        return self._literal(held[:count])

    def _link(self, held: str, decided: bool) -> int:  # noqa: FBT001 - of a table
        link = _LINK.match(held)
        if link and link.end() <= LONGEST_HELD:
            self._add(link[1])
            if link[2] != link[1]:
                self._prose.blank()
                self._add(f"({link[2]})", FAINT)
            return link.end()
        if not decided and _BEGUN_LINK.fullmatch(held):
            return 0
        return self._literal("[")

    def _escaped(self, held: str, decided: bool) -> int:  # noqa: FBT001 - of a table
        if len(held) == 1 and not decided:
            return 0
        escaped = _ESCAPED.match(held)
        if escaped is None:
            return self._literal("\\")
        self._add(escaped[1])
        return 2
