"""An agent's events as messages, whole ones or also while they grow.

A growing message has ``meta`` with an id, and ``complete`` once it is whole: a later message of the
same id takes the place of the earlier one. By default they come at most every 300 ms, as clients of
document 004 redraw no faster.
"""

import time
from collections.abc import Callable, Iterable, Iterator
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
from kernel.domain import turn_events as steps
from kernel.domain.agent_message import ASSISTANT, AgentMessage
from kernel.domain.agent_story import AgentStory
from kernel.domain.content_blocks import Text
from kernel.domain.turn_events import AgentStep

REDRAW_SECONDS = 0.3
# Of a message that is told again and again, as it grows: what a pipe and a page bear easily.
_CHARACTERS_A_SECOND = 1_000_000


class Growing:
    """Told event by event, or step by step, and None when nothing happens."""

    def __init__(
        self,
        *,
        partial: bool = True,
        redraw_seconds: float = REDRAW_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._partial = partial
        self._redraw_seconds = redraw_seconds
        self._clock = clock
        self._story = AgentStory()
        self._number = 1
        self._told_at = -redraw_seconds
        self._has_grown = False

    def messages(self, event: AgentEvent | None) -> Iterator[AgentMessage]:
        """The messages that are due."""
        step = step_of(event) if event is not None else None
        if event is None or step is not None:
            yield from self.told(step)
            return
        if isinstance(event, Finished) and not self._story.has_text:
            yield from self._story.add(steps.SaidPart(event.text))
        yield from self.end()
        if isinstance(event, Failed):
            yield AgentMessage(ASSISTANT, (Text(event.message),), {"is_error": True})

    def told(self, step: AgentStep | None) -> Iterator[AgentMessage]:
        """The messages that are due after a step."""
        if step is not None:
            whole = tuple(self._story.add(step))
            self._has_grown = self._has_grown or not whole
            yield from self._named(whole)
        if isinstance(step, steps.SaidPart | steps.ThoughtPart | None):
            yield from self._grown()

    def end(self) -> Iterator[AgentMessage]:
        """The message that was growing, if there is one: nothing is added to it any more."""
        yield from self._named(self._story.end())

    def _grown(self) -> Iterator[AgentMessage]:
        now = self._clock()
        pause = max(self._redraw_seconds, self._story.characters / _CHARACTERS_A_SECOND)
        if not self._partial or not self._has_grown or now - self._told_at < pause:
            return
        self._told_at, self._has_grown = now, False
        message = self._story.growing()
        if message:
            yield self._with_meta(message, complete=False)

    def _named(self, messages: Iterable[AgentMessage]) -> Iterator[AgentMessage]:
        for message in messages:
            self._has_grown = False
            if message.role == ASSISTANT:
                yield self._with_meta(message, complete=True)
                self._number += 1
            else:
                yield message

    def _with_meta(self, message: AgentMessage, *, complete: bool) -> AgentMessage:
        if not self._partial:
            return message
        return replace(message, meta={"id": f"message_{self._number}", "complete": complete})


def step_of(event: AgentEvent) -> AgentStep | None:
    """What a conversation keeps of an event; None for those that are no part of its story."""
    match event:
        case TextPart(text):
            return steps.SaidPart(text)
        case ThinkingPart(text):
            return steps.ThoughtPart(text)
        case ToolCalled(name, tool, given):
            return steps.ToolUsed(name, tool, given)
        case ToolReturned(name, _, outcome):
            return steps.ToolDone(name, outcome.text, outcome.success)
        case Reminded(text):
            return steps.Reminded(text)
        case _:
            return None
