"""A turn under way in a thread of its own, so that Ctrl-C can end it and lose nothing."""

import queue
import signal
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from types import FrameType

from kernel.conversation.talk import Talk
from kernel.domain.cancel import CancelToken
from kernel.domain.turn_events import Shown

# How soon Ctrl-C is noticed on systems where waiting cannot be interrupted.
TICK_SECONDS = 0.05
# A turn that nobody wants any more ends within this; if not, its journal settles it later.
END_WITHIN_SECONDS = 1.0


def events_of(talk: Talk, cancel: CancelToken) -> Generator[Shown, None, None]:
    """What the turn shows. The first Ctrl-C stops it, and its end is waited for.

    The second one raises KeyboardInterrupt. To be closed, which stops a turn that is not over.
    """
    arrived: queue.SimpleQueue[Shown | None] = queue.SimpleQueue()

    def run() -> None:
        try:
            with talk:
                for event in talk.events():
                    arrived.put(event)
        finally:
            arrived.put(None)

    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="talk")
    running = pool.submit(run)
    try:
        yield from _until_the_end(arrived, cancel)
        running.result()
    finally:
        cancel.cancel()
        wait([running], END_WITHIN_SECONDS)


def _until_the_end(
    arrived: "queue.SimpleQueue[Shown | None]", cancel: CancelToken
) -> Iterator[Shown]:
    with _noticed_interrupts() as interrupted:
        while True:
            if interrupted.is_set():
                cancel.cancel()
            try:
                event = arrived.get(timeout=TICK_SECONDS)
            except queue.Empty:
                continue
            if event is None:
                return
            yield event


@contextmanager
def _noticed_interrupts() -> Iterator[threading.Event]:
    """Ctrl-C sets the event; the handler does no more, for it may run while a lock is held."""
    noticed = threading.Event()

    def notice(_number: int, _frame: FrameType | None) -> None:
        if noticed.is_set():
            raise KeyboardInterrupt
        noticed.set()

    before = signal.signal(signal.SIGINT, notice)
    try:
        yield noticed
    finally:
        signal.signal(signal.SIGINT, before)
