"""An agent's events as messages, whole ones or also while they grow.

A growing message has ``meta`` with an id, and ``complete`` once it is whole: a later message of the
same id takes the place of the earlier one. They come at most every 300 ms, as clients of the
protocol redraw no faster.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from kernel.agent.events import (
    AgentEvent,
    Failed,
    Finished,
    Reminded,
    TextPart,
    ThinkingPart,
    ToolCalled,
    ToolReturned,
)
from kernel.doors.uap.blocks import ContentBlock, Text, Thinking, ToolResult, ToolUse
from kernel.doors.uap.message import ASSISTANT, USER, AgentMessage

REDRAW_SECONDS = 0.3


class Growing:
    """Told event by event, and None when nothing happens."""

    def __init__(
        self, *, partial: bool = True, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._partial = partial
        self._clock = clock
        self._blocks: list[ContentBlock] = []
        self._words: list[str] = []  # of the last block, which may have many parts
        self._number = 1
        self._told_at = -REDRAW_SECONDS
        self._has_grown = False

    def messages(self, event: AgentEvent | None) -> Iterator[AgentMessage]:
        """The messages that are due."""
        match event:
            case TextPart(text):
                self._grow(text, Text)
            case ThinkingPart(text):
                self._grow(text, Thinking)
            case ToolCalled(name, tool, arguments):
                self._close_block()
                self._blocks.append(ToolUse(name, tool, arguments))
            case Finished(text) if not any(isinstance(it, Text) for it in self._blocks):
                self._grow(text, Text)
            case Failed(message):
                yield from self._whole()
                yield AgentMessage(ASSISTANT, (Text(message),), {"is_error": True})
        if isinstance(event, TextPart | ThinkingPart | None):
            yield from self._grown()
        else:
            yield from self._whole()
        yield from _from_user(event)

    def _grow(self, text: str, kind: type[Text | Thinking]) -> None:
        if not self._blocks or type(self._blocks[-1]) is not kind:
            self._close_block()
            self._blocks.append(kind(""))
        self._words.append(text)
        self._has_grown = True

    def _close_block(self) -> None:
        """Give the last block all its words."""
        if not self._words:
            return
        words, last = "".join(self._words), self._blocks[-1]
        if isinstance(last, Text):
            self._blocks[-1] = Text(last.text + words)
        elif isinstance(last, Thinking):
            self._blocks[-1] = replace(last, thinking=last.thinking + words)
        self._words.clear()

    def _grown(self) -> Iterator[AgentMessage]:
        now = self._clock()
        if not self._partial or not self._has_grown or now - self._told_at < REDRAW_SECONDS:
            return
        self._told_at, self._has_grown = now, False
        self._close_block()
        yield AgentMessage(ASSISTANT, tuple(self._blocks), self._meta(complete=False))

    def _whole(self) -> Iterator[AgentMessage]:
        self._close_block()
        blocks = tuple(block for block in self._blocks if not _is_empty(block))
        if blocks:
            yield AgentMessage(ASSISTANT, blocks, self._meta(complete=True))
            self._number += 1
        self._blocks.clear()
        self._has_grown = False

    def _meta(self, *, complete: bool) -> dict[str, object]:
        if not self._partial:
            return {}
        return {"id": f"message_{self._number}", "complete": complete}


def _from_user(event: AgentEvent | None) -> Iterator[AgentMessage]:
    """What the model is told: results, and reminders in the person's place."""
    if isinstance(event, ToolReturned):
        outcome = event.outcome
        result = ToolResult(event.id, outcome.text, is_error=not outcome.success)
        yield AgentMessage(USER, (result,))
    elif isinstance(event, Reminded):
        yield AgentMessage(USER, (Text(event.text),))


def _is_empty(block: ContentBlock) -> bool:
    return isinstance(block, Text) and not block.text.strip()
