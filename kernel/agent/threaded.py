"""An agent at work on a thread of its own, so that it can be stopped and a person can be asked."""

import contextlib
import queue
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Generic, TypeVar

from kernel.agent.danger import Wish
from kernel.agent.events import AgentEvent
from kernel.domain.cancel import CancelToken
from kernel.errors import Cancelled

# How soon whoever follows an agent hears that nothing happens.
TICK_SECONDS = 0.05
# An agent that nobody follows any more ends within this; what it has done is on disk.
END_WITHIN_SECONDS = 1.0

More = TypeVar("More")


@dataclass(frozen=True, slots=True)
class Question:
    """May this be done? To be answered, or nothing goes on."""

    wish: Wish
    _answers: "queue.SimpleQueue[bool]" = field(default_factory=queue.SimpleQueue)

    def answer(self, *, allowed: bool) -> None:
        """Let the agent know."""
        self._answers.put(allowed)

    def wait(self, cancel: CancelToken) -> bool:
        """On the agent's thread: what the person said; false if the agent is stopped first."""
        while not cancel.cancelled:
            with contextlib.suppress(queue.Empty):
                return self._answers.get(timeout=TICK_SECONDS)
        return False


class _Mark(Enum):
    WAKE = auto()
    END = auto()


class AgentThread(Generic[More]):
    """One run of an agent; ``More`` is what else is told of it, in order with its events."""

    def __init__(self, cancel: CancelToken) -> None:
        self._cancel = cancel
        self._arrived: queue.SimpleQueue[AgentEvent | Question | More | _Mark] = queue.SimpleQueue()

    def ask(self, wish: Wish) -> bool:
        """Called by a tool that needs permission; waits for whoever follows the events.

        Raises Cancelled if the agent is stopped instead.
        """
        question = Question(wish)
        self._arrived.put(question)
        allowed = question.wait(self._cancel)
        if self._cancel.cancelled:
            raise Cancelled("the agent was stopped before it was allowed to")
        return allowed

    def tell(self, more: More) -> None:
        """Called on the agent's thread: something besides its events."""
        self._arrived.put(more)

    def wake(self) -> None:
        """Have None told at once; allowed in a signal's handler, whoever holds the queue's lock."""
        self._arrived.put(_Mark.WAKE)

    def events(
        self, events: Iterator[AgentEvent]
    ) -> Generator[AgentEvent | Question | More | None, None, None]:
        """What happens, until the end; None while nothing does, several times a second.

        To be closed, which stops an agent at work.
        """
        pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="agent")
        running = pool.submit(self._run, events)
        try:
            while True:
                try:
                    event = self._arrived.get(timeout=TICK_SECONDS)
                except queue.Empty:
                    event = _Mark.WAKE
                if event is _Mark.END:
                    break
                yield None if isinstance(event, _Mark) else event
            running.result()
        finally:
            self._cancel.cancel()
            wait([running], END_WITHIN_SECONDS)
            pool.shutdown(wait=False)

    def _run(self, events: Iterator[AgentEvent]) -> None:
        try:
            for event in events:
                self._arrived.put(event)
        finally:
            self._arrived.put(_Mark.END)
