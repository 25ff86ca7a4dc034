"""Runs an agent on its own thread and queues its events, so that it can wait for permissions.

AgentMessageStream makes messages of them, complete ones and, if wanted, those that still grow.
"""

import contextlib
import queue
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from codekernel.agent.tool_policy import PermissionReply, ToolPermissionRequest
from codekernel.domain.chat import ROLE_ASSISTANT, AgentMessage, TextContent
from codekernel.domain.concurrency import CancelToken
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
from codekernel.errors import Cancelled

# How often a reader of the events gets None while there are none.
POLL_INTERVAL_SECONDS = 0.05

# How long closing waits for the agent to end; what it has done is on disk.
STOP_TIMEOUT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class PermissionPrompt:
    """A tool call that waits for the user's answer."""

    request: ToolPermissionRequest
    _answers: "queue.SimpleQueue[PermissionReply]" = field(default_factory=queue.SimpleQueue)

    def answer(self, reply: PermissionReply) -> None:
        """Give the user's answer to the waiting agent."""
        self._answers.put(reply)

    def wait(self, cancel: CancelToken) -> PermissionReply:
        """Return the answer, on the agent's thread; a refusal if the agent is stopped first."""
        while not cancel.is_cancelled:
            with contextlib.suppress(queue.Empty):
                return self._answers.get(timeout=POLL_INTERVAL_SECONDS)
        return PermissionReply(allowed=False)


class _QueueSignal(Enum):
    WAKE = auto()
    END = auto()


class AgentThread:
    """One run of an agent on a thread of its own."""

    def __init__(self, cancel: CancelToken) -> None:
        self._cancel = cancel
        self._queue: queue.SimpleQueue[LoopEvent | PermissionPrompt | _QueueSignal] = (
            queue.SimpleQueue()
        )

    def ask(self, request: ToolPermissionRequest) -> PermissionReply:
        """Ask for a permission on the agent's thread, and wait for the reader of the events.

        Raises Cancelled if the agent is stopped instead.
        """
        prompt = PermissionPrompt(request)
        self._queue.put(prompt)
        reply = prompt.wait(self._cancel)
        if self._cancel.is_cancelled:
            raise Cancelled("the agent was stopped before it was allowed to")
        return reply

    def wake(self) -> None:
        """Have None yielded at once; safe in a signal handler: SimpleQueue.put is reentrant."""
        self._queue.put(_QueueSignal.WAKE)

    def follow(
        self, events: Iterator[LoopEvent]
    ) -> Generator[LoopEvent | PermissionPrompt | None, None, None]:
        """Yield the events until the end, and None several times a second while there are none.

        Closing the generator stops the agent.
        """
        pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="agent")
        running = pool.submit(self._run, events)
        try:
            while True:
                try:
                    event = self._queue.get(timeout=POLL_INTERVAL_SECONDS)
                except queue.Empty:
                    event = _QueueSignal.WAKE
                if event is _QueueSignal.END:
                    break
                yield None if isinstance(event, _QueueSignal) else event
            running.result()
        finally:
            self._cancel.cancel()
            wait([running], STOP_TIMEOUT_SECONDS)
            pool.shutdown(wait=False)

    def _run(self, events: Iterator[LoopEvent]) -> None:
        try:
            for event in events:
                self._queue.put(event)
        finally:
            self._queue.put(_QueueSignal.END)


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
