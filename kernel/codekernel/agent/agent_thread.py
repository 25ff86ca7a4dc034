"""Runs the agent loop on its own thread and queues its events.

So that it can be cancelled and can wait for permission prompts.
"""

import contextlib
import queue
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Generic, TypeVar

from codekernel.agent.events import AgentEvent
from codekernel.agent.tool_policy import ToolPermissionRequest
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled

# How soon whoever follows an agent hears that nothing happens.
POLL_INTERVAL_SECONDS = 0.05

# An agent that nobody follows any more ends within this; what it has done is on disk.
STOP_TIMEOUT_SECONDS = 1.0

ExtraEvent = TypeVar("ExtraEvent")


@dataclass(frozen=True, slots=True)
class PermissionPrompt:
    """May this be done? To be answered, or nothing goes on."""

    request: ToolPermissionRequest
    _answers: "queue.SimpleQueue[bool]" = field(default_factory=queue.SimpleQueue)

    def answer(self, *, allowed: bool) -> None:
        """Let the agent know."""
        self._answers.put(allowed)

    def wait(self, cancel: CancelToken) -> bool:
        """On the agent's thread: what the person said; false if the agent is stopped first."""
        while not cancel.is_cancelled:
            with contextlib.suppress(queue.Empty):
                return self._answers.get(timeout=POLL_INTERVAL_SECONDS)
        return False


class _QueueSignal(Enum):
    WAKE = auto()
    END = auto()


class AgentThread(Generic[ExtraEvent]):
    """One run of an agent; ``More`` is what else is told of it, in order with its events."""

    def __init__(self, cancel: CancelToken) -> None:
        self._cancel = cancel
        self._queue: queue.SimpleQueue[
            AgentEvent | PermissionPrompt | ExtraEvent | _QueueSignal
        ] = queue.SimpleQueue()

    def ask(self, request: ToolPermissionRequest) -> bool:
        """Called by a tool that needs permission; waits for whoever follows the events.

        Raises Cancelled if the agent is stopped instead.
        """
        question = PermissionPrompt(request)
        self._queue.put(question)
        allowed = question.wait(self._cancel)
        if self._cancel.is_cancelled:
            raise Cancelled("the agent was stopped before it was allowed to")
        return allowed

    def put_event(self, event: ExtraEvent) -> None:
        """Called on the agent's thread: something besides its events."""
        self._queue.put(event)

    def wake(self) -> None:
        """Have None told at once; allowed in a signal's handler, whoever holds the queue's lock."""
        self._queue.put(_QueueSignal.WAKE)

    def follow(
        self, events: Iterator[AgentEvent]
    ) -> Generator[AgentEvent | PermissionPrompt | ExtraEvent | None, None, None]:
        """What happens, until the end; None while nothing does, several times a second.

        To be closed, which stops an agent at work.
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

    def _run(self, events: Iterator[AgentEvent]) -> None:
        try:
            for event in events:
                self._queue.put(event)
        finally:
            self._queue.put(_QueueSignal.END)
