"""Requests between their arrival and their answer: not too many at once, and none forgotten."""

import threading
from collections.abc import Iterable

from kernel.dispatch.lanes import Job

# Enough for any honest burst, too few to fill the memory.
WAITING_LIMIT = 8192
# A burst that is being worked off is worth a short wait; if nothing moves, a refusal is better,
# because the stop message may stand behind it in the pipe.
PATIENCE_SECONDS = 0.25


class Backlog:
    """The requests that still want an answer; one thread admits, many finish."""

    def __init__(
        self, limit: int = WAITING_LIMIT, patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        self._limit = limit
        self._patience_seconds = patience_seconds
        self._waiting: dict[int, Job] = {}
        self._stuck = False
        self._moved = threading.Condition()

    def admit(self, job: Job) -> bool:
        """Take a request in; false if too many are waiting and none gets done."""
        with self._moved:
            if len(self._waiting) >= self._limit and not self._stuck:
                self._stuck = not self._moved.wait(self._patience_seconds)
            if len(self._waiting) >= self._limit:
                return False
            self._waiting[id(job)] = job
            return True

    def finish(self, job: Job) -> None:
        """Take out a request that has its answer."""
        with self._moved:
            if self._waiting.pop(id(job), None) is None:
                return
            self._stuck = False
            if not self._waiting or len(self._waiting) == self._limit - 1:
                self._moved.notify_all()

    def wait_until_empty(self, timeout_seconds: float) -> None:
        """Return once every request has its answer, or when the time is up."""
        with self._moved:
            self._moved.wait_for(lambda: not self._waiting, timeout_seconds)

    def left(self) -> Iterable[Job]:
        """The requests that are still open."""
        with self._moved:
            return list(self._waiting.values())
