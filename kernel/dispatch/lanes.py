"""Where a handler runs, and the worker behind a lane: a named thread, an inbox and an end."""

import logging
import queue
import threading
from collections.abc import Callable
from enum import Enum, auto
from typing import Protocol

from kernel.errors import KernelError

logger = logging.getLogger(__name__)

# Refusing is quick; longer than this means that a job itself is stuck.
REFUSED_WITHIN_SECONDS = 0.5


class Lane(Enum):
    """The queue a request waits in. Requests of one lane are answered in the order they came."""

    URGENT = (
        auto()
    )  # at once, on the reader's thread: must not block. For everything that stops work
    MAIN = auto()  # repositories and sessions: short work only, because every window waits for it
    SETTINGS = auto()  # settings, keys, hardware: may take a second
    SESSION = auto()  # the session's own worker
    OWN = auto()  # a thread of its own: network and long conversations


class Job(Protocol):
    """A request on its way: it is run, or refused, exactly once."""

    def run(self) -> None:
        """Answer the request."""

    def refuse(self, error: KernelError) -> None:
        """Answer that it will not be done."""


class WorkerLane:
    """A thread that runs jobs one after another; what escapes from one goes to ``on_crash``."""

    def __init__(self, name: str, on_crash: Callable[[BaseException], None]) -> None:
        self._inbox: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._door = threading.Lock()
        self._refusal: KernelError | None = None
        self._in_a_hurry = False
        self._on_crash = on_crash
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def post(self, job: Job) -> None:
        """Queue the job, or refuse it if the lane has closed."""
        with self._door:
            refusal = self._refusal
            if refusal is None:
                self._inbox.put(job)
        if refusal is not None:
            job.refuse(refusal)

    def close(self, refusal: KernelError) -> None:
        """Take no more jobs; those already queued are still run."""
        with self._door:
            if self._refusal is None:
                self._refusal = refusal
                self._inbox.put(None)

    def join(self, timeout_seconds: float) -> bool:
        """Wait for the queued jobs, then refuse what is left; false if one still runs."""
        self._thread.join(timeout_seconds)
        self._in_a_hurry = True
        self._thread.join(REFUSED_WITHIN_SECONDS)
        return not self._thread.is_alive()

    def _work(self) -> None:
        try:
            while (job := self._inbox.get()) is not None:
                if self._in_a_hurry and self._refusal:
                    job.refuse(self._refusal)
                else:
                    job.run()
        except BaseException as error:  # noqa: BLE001 - the guard of this thread: the owner decides
            self._on_crash(error)


def run_on_own_thread(job: Job, name: str) -> None:
    """Run the job on a new thread; if the system has none to give, refuse it."""
    try:
        threading.Thread(target=job.run, name=name, daemon=True).start()
    except RuntimeError:
        logger.exception("no thread for %s", name)
        job.refuse(KernelError("the system has no thread left to give; close other programs"))
