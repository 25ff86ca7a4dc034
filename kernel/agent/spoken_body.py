"""What stands in a fence, a tag or behind a label that calls a tool, until it is over."""

import re

from kernel.agent.spoken_marks import Mark

_CLOSING_TAG = "</tool_call>"
_FENCE = "```"
_OPENING = {"{": "}", "[": "]", "(": ")"}
_REFUSAL = re.compile(r"\W*(?:none|n/a|null|nothing|无|没有)\b.{0,40}", re.IGNORECASE | re.DOTALL)


class Body:
    """Collects characters; where it is over depends on what began it."""

    def __init__(self, mark: Mark, opening: str) -> None:
        self.mark = mark
        self._opening = opening
        self._characters: list[str] = []
        self._line = ""
        self._first = ""  # of the body, as far as it takes to see a fence
        self._depth = 0
        self._quoted = self._escaped = False

    @property
    def text(self) -> str:
        """What was between the beginning and the end."""
        text = "".join(self._characters)
        if self.mark is Mark.CALL_TAG:
            return text.removesuffix(_CLOSING_TAG)
        if self.mark is Mark.CALL_FENCE:
            return text.rstrip().removesuffix(_FENCE)
        return text

    @property
    def whole(self) -> str:
        """The same with what began and ended it: as the model wrote it."""
        return self._opening + "".join(self._characters)

    @property
    def is_refusal(self) -> bool:
        """Whether the model says that it needs no tool."""
        return self.mark is Mark.ACTION and bool(_REFUSAL.fullmatch(self.text.strip()))

    def takes_last(self, character: str) -> bool:
        """Take a character; whether it was the last one."""
        self._characters.append(character)
        self._line += character
        if self.mark is Mark.CALL_TAG:
            self._line = self._line[-len(_CLOSING_TAG) :]
            return self._line == _CLOSING_TAG
        if self.mark is not Mark.CALL_FENCE:
            self._count(character)
        if character != "\n":
            return False
        line, self._line = self._line, ""
        return self._is_over(line)

    def _is_over(self, line: str) -> bool:
        """Whether a body that ends with a line ends with this one."""
        if self.mark is Mark.CALL_FENCE:
            return line.rstrip().endswith(_FENCE)
        if self._first == _FENCE:
            return line.strip() == _FENCE
        return bool(self._first) and self._depth == 0

    def _count(self, character: str) -> None:
        """Brackets that are open, outside of texts; before the first one quotes mean nothing."""
        if len(self._first) < len(_FENCE) and (self._first or not character.isspace()):
            self._first += character
        if self._escaped:
            self._escaped = False
        elif self._quoted:
            self._escaped = character == "\\"
            self._quoted = character != '"'
        elif character == '"' and self._depth:
            self._quoted = True
        elif character in _OPENING:
            self._depth += 1
        elif character in _OPENING.values() and self._depth:
            self._depth -= 1
