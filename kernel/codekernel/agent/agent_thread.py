"""Runs an agent on its own thread and queues its events, so that it can wait for permissions."""

import contextlib
import queue
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from enum import Enum, auto

from codekernel.agent.tool_policy import ToolPermissionRequest
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.turn_events import LoopEvent
from codekernel.errors import Cancelled

# How often a reader of the events gets None while there are none.
POLL_INTERVAL_SECONDS = 0.05

# How long closing waits for the agent to end; what it has done is on disk.
STOP_TIMEOUT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class PermissionPrompt:
    """A tool call that waits for the user's answer."""

    request: ToolPermissionRequest
    _answers: "queue.SimpleQueue[bool]" = field(default_factory=queue.SimpleQueue)

    def answer(self, *, allowed: bool) -> None:
        """Give the user's answer to the waiting agent."""
        self._answers.put(allowed)

    def wait(self, cancel: CancelToken) -> bool:
        """Return the answer, on the agent's thread; false if the agent is stopped first."""
        while not cancel.is_cancelled:
            with contextlib.suppress(queue.Empty):
                return self._answers.get(timeout=POLL_INTERVAL_SECONDS)
        return False


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

    def ask(self, request: ToolPermissionRequest) -> bool:
        """Ask for a permission on the agent's thread, and wait for the reader of the events.

        Raises Cancelled if the agent is stopped instead.
        """
        prompt = PermissionPrompt(request)
        self._queue.put(prompt)
        allowed = prompt.wait(self._cancel)
        if self._cancel.is_cancelled:
            raise Cancelled("the agent was stopped before it was allowed to")
        return allowed

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
