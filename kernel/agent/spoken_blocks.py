"""The text of a model that has no other way to call tools, taken apart while it streams.

Thoughts, calls and what is really said, told apart by labels (``思考: … 执行: …``, and ReAct's
Thought, Action, Action Input, Observation, Final Answer), by the tags think and tool_call, and by
fences with the word tool. Each character is looked at once and by itself, so the blocks are the
same however the text was cut into pieces.

A label or a tag counts only where a line begins, outside of code; a labelled thought ends at an
empty line, because a hidden answer would be worse than a shown thought.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum, auto

from kernel.agent.spoken_body import Body
from kernel.agent.spoken_calls import SpokenCall, arguments_in, calls_in
from kernel.agent.spoken_marks import COLONS, Mark, judged


class Kind(Enum):
    """What a block is."""

    TEXT = auto()
    THINKING = auto()
    CALL = auto()
    RESULT = auto()


@dataclass(frozen=True, slots=True)
class Piece:
    """More of the block of this number, counted from 1; a call comes whole, with its name."""

    number: int
    kind: Kind
    text: str
    name: str = ""


@dataclass(slots=True)
class _Code:
    """A fence that is open: how long it is, and its line so far; the first has the language."""

    ticks: int
    line: str = ""
    is_first: bool = True

    def ends(self) -> bool:
        """Whether the line, now complete, closes the fence; if not, the next one begins."""
        if self.is_first:
            over = "`" in self.line  # it was code within a line
        else:
            line = self.line.strip()
            over = len(line) >= self.ticks and not line.strip("`")
        self.line, self.is_first = "", False
        return over


_ALWAYS = frozenset({Mark.THOUGHT, Mark.ACTION, Mark.THINK_TAG, Mark.CALL_TAG, Mark.CALL_FENCE})
_STARS = "**"


class SpokenBlocks:
    """Feed it text, then end it; ``known`` are the names of tools, if these are known.

    ``until_result``: what a model writes after it has begun a result by itself is left out.
    """

    def __init__(self, known: Collection[str] | None = None, *, until_result: bool = False) -> None:
        self._known = known
        self._until_result = until_result
        self.is_over = False
        self._pieces: list[Piece] = []
        self._number = 0
        self._kind = Kind.TEXT
        self._begun = False
        self._space = ""
        self._line: str | None = ""  # the beginning of a line that may become a mark
        self._code: _Code | None = None
        self._closing, self._half = "", ""  # of a tag around a thought
        self._body: Body | None = None
        self._waiting: str | None = None  # an action whose input may still come
        self._labelled = self._called = self._answering = False
        self._skip = ""

    def feed(self, text: str) -> list[Piece]:
        """What is certain now; the pieces of a block, one after another, are the block."""
        for character in text:
            if not self.is_over:
                self._step(character)
        return self._taken()

    def end(self) -> list[Piece]:
        """What was held back."""
        if self._body is not None:
            self._close_body(self._body)
        half, self._half = self._half, ""
        line, self._line = self._line or "", None
        self._say(half)
        if line.strip():
            self._settle()
        self._say(line)
        self._settle()
        return self._taken()

    def _taken(self) -> list[Piece]:
        pieces, self._pieces = self._pieces, []
        return list(_merged(pieces))

    def _step(self, character: str) -> None:
        if self._body is not None:
            if self._body.takes_last(character):
                self._close_body(self._body)
        elif self._closing:
            self._step_in_tag(character)
        elif self._code is not None:
            self._step_in_code(character, self._code)
        elif self._line is not None:
            self._step_at_start(character, self._line)
        else:
            self._say(character)
            if character == "\n":
                self._line = ""

    def _step_in_tag(self, character: str) -> None:
        self._half += character
        while not self._closing.startswith(self._half):
            self._say(self._half[0])
            self._half = self._half[1:]
        if self._half == self._closing:
            self._closing = self._half = ""
            self._turn(Kind.TEXT)
            self._line = ""

    def _step_in_code(self, character: str, code: "_Code") -> None:
        self._say(character)
        if character != "\n":
            code.line += character
        elif code.ends():
            self._code, self._line = None, ""

    def _step_at_start(self, character: str, line: str) -> None:
        if self._skip.startswith(character) and not line:
            self._skip = self._skip[1:]
            return
        self._skip = ""
        line += character
        mark, used = judged(line, self._awaited())
        if mark is Mark.UNDECIDED and character != "\n":
            self._line = line
            return
        if mark in {Mark.UNDECIDED, Mark.PLAIN}:
            self._plain(line)
            return
        if mark is not Mark.INPUT:
            self._settle()
        self._begin(mark, line[:used])
        for rest in line[used:]:
            self._step(rest)

    def _plain(self, line: str) -> None:
        if line.strip():
            self._settle()
        elif self._kind is Kind.THINKING and self._begun:
            self._turn(Kind.TEXT)
        self._say(line)
        self._line = "" if line.endswith("\n") else None

    def _begin(self, mark: Mark, opening: str) -> None:
        self._line = None
        if mark in {Mark.ACTION, Mark.INPUT, Mark.CALL_FENCE, Mark.CALL_TAG}:
            self._labelled |= mark is Mark.ACTION
            self._body = Body(mark, opening)
        elif mark is Mark.CODE:
            self._say(opening)
            self._code = _Code(opening.count("`"))
        elif mark is Mark.THINK_TAG:
            self._turn(Kind.THINKING)
            self._closing = f"</{opening.strip()[1:]}"
        else:
            self._labelled = True
            self._answering = mark is Mark.ANSWER
            self.is_over = self._until_result and mark is Mark.OBSERVATION
            kinds = {Mark.THOUGHT: Kind.THINKING, Mark.OBSERVATION: Kind.RESULT}
            self._turn(kinds.get(mark, Kind.TEXT))
            self._line = ""
            before = opening.rstrip(f" \t{COLONS}")
            self._skip = _STARS if _STARS in before and not before.endswith(_STARS) else ""

    def _awaited(self) -> frozenset[Mark]:
        if self._answering:
            return frozenset({Mark.CALL_FENCE})
        awaited = set(_ALWAYS)
        if self._kind is Kind.RESULT:  # what a tool said is quoted, not done
            awaited -= {Mark.CALL_FENCE, Mark.CALL_TAG, Mark.THINK_TAG}
        if self._waiting is not None:
            awaited.add(Mark.INPUT)
        if self._called or self._waiting is not None:
            awaited.add(Mark.OBSERVATION)
        if self._labelled:
            awaited.add(Mark.ANSWER)
        return frozenset(awaited)

    def _close_body(self, body: Body) -> None:
        self._body, self._line = None, ""
        if body.mark is Mark.INPUT:
            self._call(SpokenCall(self._waiting or "", arguments_in(body.text)))
            self._waiting = None
            return
        calls = calls_in(body.text)
        if not calls and body.is_refusal:
            return
        if not calls or any(call.loose and not self._knows(call.name) for call in calls):
            self._turn(Kind.TEXT)
            self._say(body.whole)
            return
        if body.mark is Mark.ACTION and len(calls) == 1 and calls[0].arguments == "{}":
            self._waiting = calls[0].name
            return
        for call in calls:
            self._call(call)

    def _settle(self) -> None:
        """An action whose input did not come is called without."""
        if self._waiting is not None:
            name, self._waiting = self._waiting, None
            self._call(SpokenCall(name, "{}"))

    def _call(self, call: SpokenCall) -> None:
        self._number += 1
        self._pieces.append(Piece(self._number, Kind.CALL, call.arguments, call.name))
        self._called = True
        self._turn(Kind.TEXT)

    def _knows(self, name: str) -> bool:
        return self._known is None or name in self._known

    def _turn(self, kind: Kind) -> None:
        self._kind, self._begun, self._space = kind, False, ""

    def _say(self, text: str) -> None:
        """White space around a block is no part of it."""
        for character in text:
            if character.isspace():
                self._space += character if self._begun else ""
                continue
            if not self._begun:
                self._number += 1
                self._begun = True
            self._pieces.append(Piece(self._number, self._kind, self._space + character))
            self._space = ""


def _merged(pieces: list[Piece]) -> Iterator[Piece]:
    """Neighbours of one block as one piece."""
    place = 0
    while place < len(pieces):
        first, texts = pieces[place], []
        while place < len(pieces) and pieces[place].number == first.number:
            texts.append(pieces[place].text)
            place += 1
        yield Piece(first.number, first.kind, "".join(texts), first.name)
