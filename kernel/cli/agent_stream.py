"""An agent that is followed in a terminal or by a program: Ctrl-C and SIGTERM end it."""

import signal
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from types import FrameType
from typing import Never

from kernel.agent.events import AgentEvent
from kernel.agent.threaded import AgentThread, Question
from kernel.domain.cancel import CancelToken


def followed(
    thread: AgentThread[Never], events: Iterator[AgentEvent], cancel: CancelToken
) -> Generator[AgentEvent | Question | None, None, None]:
    """What happens, until the end; None while nothing does, several times a second.

    The first Ctrl-C or SIGTERM stops the agent, the second one raises KeyboardInterrupt. To be
    closed, which stops an agent at work.
    """
    with _noticed_signals(thread.wake) as noticed, closing(thread.events(events)) as coming:
        for event in coming:
            if noticed.is_set():
                cancel.cancel()
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
