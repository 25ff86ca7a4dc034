"""Events of a running agent as messages, complete ones and, if wanted, those that still grow."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from codekernel.domain.chat import ROLE_ASSISTANT, AgentMessage, TextContent
from codekernel.domain.turn_events import (
    AgentFinished,
    AgentMessageBuilder,
    AgentStep,
    AgentTextDelta,
    AgentThinkingDelta,
    LoopEvent,
    RoundStarted,
    TurnFailed,
)

DEFAULT_UPDATE_INTERVAL_SECONDS = 0.3

# Of a message that is sent again and again, as it grows: what a pipe and a page bear easily.
_MAX_CHARACTERS_PER_SECOND = 1_000_000


class AgentMessageStream:
    """Fed with every event, and with None while nothing happens."""

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
        self._builder = AgentMessageBuilder()
        self._message_number = 1
        self._last_emitted = -interval_seconds
        self._is_dirty = False

    def feed(self, event: LoopEvent | None) -> Iterator[AgentMessage]:
        """Return the messages that are due after an event."""
        match event:
            case None:
                yield from self._emit_partial()
            case RoundStarted():
                yield from self.flush()
            case AgentFinished(text):
                if not self._builder.has_text:
                    yield from self._builder.add(AgentTextDelta(text))
                yield from self.flush()
            case TurnFailed(_, message):
                yield from self.flush()
                yield AgentMessage(ROLE_ASSISTANT, (TextContent(message),), {"is_error": True})
            case _ if isinstance(event, AgentStep):
                complete = tuple(self._builder.add(event))
                self._is_dirty = self._is_dirty or not complete
                yield from self._emit_complete(complete)
                if isinstance(event, AgentTextDelta | AgentThinkingDelta):
                    yield from self._emit_partial()

    def flush(self) -> Iterator[AgentMessage]:
        """Return the message that was growing, if there is one: nothing is added to it any more."""
        yield from self._emit_complete(self._builder.finish())

    def _emit_partial(self) -> Iterator[AgentMessage]:
        now = self._clock()
        pause = max(self._interval_seconds, self._builder.char_count / _MAX_CHARACTERS_PER_SECOND)
        if not self._emits_partial or not self._is_dirty or now - self._last_emitted < pause:
            return
        self._last_emitted, self._is_dirty = now, False
        message = self._builder.build_partial()
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
