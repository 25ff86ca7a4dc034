"""Events of a running agent, in order, and the stream that turns them into messages.

Text and thinking arrive as deltas; the last event is AgentFinished or AgentFailed.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from codekernel.agent.tool import ToolOutcome
from codekernel.domain import turn_events as steps
from codekernel.domain.chat import ROLE_ASSISTANT, AgentMessage, TextContent
from codekernel.domain.turn_events import AgentMessageBuilder, AgentStep
from codekernel.errors import KernelError


@dataclass(frozen=True, slots=True)
class RoundStarted:
    """The model is asked for the ``number``-th time, counted from 1."""

    number: int


@dataclass(frozen=True, slots=True)
class TextPart:
    """The next words of the model."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingPart:
    """The next words of what the model thinks to itself."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """The model wants a tool; ``arguments`` is empty where it wrote no JSON object."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """What came of the call of this id."""

    id: str
    name: str
    outcome: ToolOutcome


@dataclass(frozen=True, slots=True)
class AgentReminded:
    """The model was told to go on, in these words."""

    text: str


@dataclass(frozen=True, slots=True)
class AgentFinished:
    """The agent is done; ``text`` is its whole last answer."""

    text: str


@dataclass(frozen=True, slots=True)
class AgentFailed:
    """The agent could not go on; the message is for a person, the code one of ``errors.py``."""

    message: str
    code: str = KernelError.code


AgentEvent = (
    RoundStarted
    | TextPart
    | ThinkingPart
    | ToolCalled
    | ToolReturned
    | AgentReminded
    | AgentFinished
    | AgentFailed
)

DEFAULT_UPDATE_INTERVAL_SECONDS = 0.3

# Of a message that is told again and again, as it grows: what a pipe and a page bear easily.
_MAX_CHARACTERS_PER_SECOND = 1_000_000


class AgentMessageStream:
    """Told event by event, or step by step, and None when nothing happens."""

    def __init__(
        self,
        *,
        partial: bool = True,
        interval_seconds: float = DEFAULT_UPDATE_INTERVAL_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._emits_partial = partial
        self._interval_seconds = interval_seconds
        self._clock = clock
        self._story = AgentMessageBuilder()
        self._message_number = 1
        self._last_emitted = -interval_seconds
        self._is_dirty = False

    def feed_event(self, event: AgentEvent | None) -> Iterator[AgentMessage]:
        """The messages that are due."""
        step = convert_event_to_step(event) if event is not None else None
        if event is None or step is not None:
            yield from self.feed_step(step)
            return
        if isinstance(event, AgentFinished) and not self._story.has_text:
            yield from self._story.add(steps.AgentTextDelta(event.text))
        yield from self.flush()
        if isinstance(event, AgentFailed):
            yield AgentMessage(ROLE_ASSISTANT, (TextContent(event.message),), {"is_error": True})

    def feed_step(self, step: AgentStep | None) -> Iterator[AgentMessage]:
        """The messages that are due after a step."""
        if step is not None:
            whole = tuple(self._story.add(step))
            self._is_dirty = self._is_dirty or not whole
            yield from self._emit_complete(whole)
        if isinstance(step, steps.AgentTextDelta | steps.AgentThinkingDelta | None):
            yield from self._emit_partial()

    def flush(self) -> Iterator[AgentMessage]:
        """The message that was growing, if there is one: nothing is added to it any more."""
        yield from self._emit_complete(self._story.finish())

    def _emit_partial(self) -> Iterator[AgentMessage]:
        now = self._clock()
        pause = max(self._interval_seconds, self._story.char_count / _MAX_CHARACTERS_PER_SECOND)
        if not self._emits_partial or not self._is_dirty or now - self._last_emitted < pause:
            return
        self._last_emitted, self._is_dirty = now, False
        message = self._story.build_partial()
        if message:
            yield self._add_meta(message, complete=False)

    def _emit_complete(self, messages: Iterable[AgentMessage]) -> Iterator[AgentMessage]:
        for message in messages:
            self._is_dirty = False
            if message.role == ROLE_ASSISTANT:
                yield self._add_meta(message, complete=True)
                self._message_number += 1
            else:
                yield message

    def _add_meta(self, message: AgentMessage, *, complete: bool) -> AgentMessage:
        if not self._emits_partial:
            return message
        return replace(
            message, meta={"id": f"message_{self._message_number}", "complete": complete}
        )


def convert_event_to_step(event: AgentEvent) -> AgentStep | None:
    """What a conversation keeps of an event; None for those that are no part of its story."""
    match event:
        case TextPart(text):
            return steps.AgentTextDelta(text)
        case ThinkingPart(text):
            return steps.AgentThinkingDelta(text)
        case ToolCalled(name, tool, given):
            return steps.AgentToolUsed(name, tool, given)
        case ToolReturned(name, _, outcome):
            return steps.AgentToolDone(name, outcome.text, outcome.success)
        case AgentReminded(text):
            return steps.TurnReminded(text)
        case _:
            return None
