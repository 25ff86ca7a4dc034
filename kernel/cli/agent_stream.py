"""An agent at work in a thread of its own, so that Ctrl-C can end it and a person can be asked."""

import contextlib
import queue
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from kernel.agent.danger import Wish
from kernel.agent.events import AgentEvent, Finished
from kernel.domain.cancel import CancelToken

# How soon Ctrl-C is noticed on systems where waiting cannot be interrupted.
TICK_SECONDS = 0.05
# An agent that nobody wants any more ends within this; what it has done is on disk.
END_WITHIN_SECONDS = 1.0


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


_WAKE = Finished("")  # known by itself, not by what it says


class AgentThread:
    """One run of an agent."""

    def __init__(self, cancel: CancelToken) -> None:
        self._cancel = cancel
        self._arrived: queue.SimpleQueue[AgentEvent | Question | None] = queue.SimpleQueue()

    def ask(self, wish: Wish) -> bool:
        """Called by a tool that needs permission; waits for whoever follows the events."""
        question = Question(wish)
        self._arrived.put(question)
        return question.wait(self._cancel)

    def events(
        self, events: Iterator[AgentEvent]
    ) -> Generator[AgentEvent | Question | None, None, None]:
        """What happens, until the end; None while nothing does, several times a second.

        The first Ctrl-C or SIGTERM stops the agent, the second one raises KeyboardInterrupt. To be
        closed, which stops an agent at work.
        """
        pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="agent")
        running = pool.submit(self._run, events)
        try:
            yield from self._until_the_end()
            running.result()
        finally:
            self._cancel.cancel()
            wait([running], END_WITHIN_SECONDS)

    def _run(self, events: Iterator[AgentEvent]) -> None:
        try:
            for event in events:
                self._arrived.put(event)
        finally:
            self._arrived.put(None)

    def _until_the_end(self) -> Iterator[AgentEvent | Question | None]:
        # Putting into this queue is allowed in a signal's handler, whoever holds its lock.
        with _noticed_signals(lambda: self._arrived.put(_WAKE)) as noticed:
            while True:
                if noticed.is_set():
                    self._cancel.cancel()
                try:
                    event = self._arrived.get(timeout=TICK_SECONDS)
                except queue.Empty:
                    yield None
                    continue
                if event is None:
                    return
                if event is not _WAKE:
                    yield event


@contextmanager
def _noticed_signals(wake: Callable[[], None]) -> Iterator[threading.Event]:
    """Signals set the event; the handler does no more, for it may run while a lock is held."""
    noticed = threading.Event()

    def notice(_number: int, _frame: FrameType | None) -> None:
        if noticed.is_set():
            raise KeyboardInterrupt
        noticed.set()
        wake()

    before = {number: signal.signal(number, notice) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield noticed
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
