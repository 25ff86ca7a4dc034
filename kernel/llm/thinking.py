"""Tells what a model thinks from what it answers, where both come as one text.

Some servers leave the tags of a reasoning model in its text. They are looked for only where an
answer begins: further on, ``<think>`` is a word of the answer, such as one about this very file.
"""

from collections.abc import Iterator
from enum import Enum, auto

from kernel.domain.chat import ReasoningDelta, TextDelta

_TAGS = {"<think>": "</think>", "<thinking>": "</thinking>"}


class _Place(Enum):
    BEFORE = auto()
    THINKING = auto()
    ANSWER = auto()


class ThinkingSplitter:
    """Text in, deltas out; holds back only what may be half a tag."""

    def __init__(self) -> None:
        self._place = _Place.BEFORE
        self._held = ""
        self._closing = ""
        self._has_thought = False

    def feed(self, text: str) -> Iterator[TextDelta | ReasoningDelta]:
        """Yield what is now known to be thought or said."""
        if self._place is _Place.ANSWER:
            if text:
                yield TextDelta(text)
            return
        self._held += text
        if self._place is _Place.THINKING:
            yield from self._think()
        if self._place is _Place.BEFORE:
            yield from self._begin()

    def end(self) -> Iterator[TextDelta | ReasoningDelta]:
        """Yield what was held back, now that no tag can come of it."""
        held, self._held = self._held, ""
        if self._place is _Place.THINKING:
            yield from _reasoning(held)
        elif held and not (self._has_thought and held.isspace()):
            yield TextDelta(held)

    def _begin(self) -> Iterator[TextDelta | ReasoningDelta]:
        start = self._held.lstrip()
        for opening, closing in _TAGS.items():
            if start.startswith(opening):
                self._place = _Place.THINKING
                self._closing = closing
                self._held = start.removeprefix(opening)
                yield from self._think()
                if self._place is _Place.BEFORE and self._held:
                    yield from self._begin()
                return
            if opening.startswith(start):
                return  # nothing yet, or half a tag
        self._place = _Place.ANSWER
        # The blank lines after a thought are part of its packaging; others belong to the answer.
        text = start if self._has_thought else self._held
        self._held = ""
        yield TextDelta(text)

    def _think(self) -> Iterator[ReasoningDelta]:
        thought, tag, after = self._held.partition(self._closing)
        if tag:
            self._held = after
            self._place = _Place.BEFORE
            self._has_thought = True
            yield from _reasoning(thought)
            return
        sure = len(self._held) - _half_tag(self._held, self._closing)
        thought, self._held = self._held[:sure], self._held[sure:]
        yield from _reasoning(thought)


def _reasoning(thought: str) -> Iterator[ReasoningDelta]:
    if thought:
        yield ReasoningDelta(thought)


def _half_tag(text: str, tag: str) -> int:
    """How many characters at the end of ``text`` may be the beginning of ``tag``."""
    return next((length for length in range(len(tag) - 1, 0, -1) if text.endswith(tag[:length])), 0)
