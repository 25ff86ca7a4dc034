"""Plan batches of similar length and run them on a thread pool.

A priority semaphore lets queries go before bulk work.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled

# Of a batch, what may be padding. Measured on functions of mixed length: padding is the whole cost
# of batching, and a batch of one is as fast per token as a batch of eight.
MAX_PADDING_RATIO = 0.1


def plan_batches(lengths: Sequence[int], *, batch_size_tokens: int) -> list[list[int]]:
    """Batches of positions in ``lengths``, longest first; a longer text has a batch of its own.

    Longest first, because the last batch to end decides when all are done.
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    batches: list[list[int]] = []
    widest = used = 0
    for position in order:
        length = lengths[position]
        size = len(batches[-1]) + 1 if batches else 1
        padding = widest * size - used - length
        full = widest * size > batch_size_tokens or padding > MAX_PADDING_RATIO * widest * size
        if not batches or full:
            batches.append([])
            widest, used = length, 0
        batches[-1].append(position)
        used += length
    return batches


class PrioritySemaphore:
    """Lets ``places`` runs through at a time; an urgent one goes before every waiting bulk one.

    Bulk work passes once per small batch, so an urgent run waits for one batch at the most.
    """

    def __init__(self, slots: int) -> None:
        self._free_slots = slots
        self._urgent_waiting = 0
        self._condition = threading.Condition()

    @contextmanager
    def acquire(self, *, urgent: bool) -> Iterator[None]:
        """Hold one place for as long as the block lasts."""
        self._wait_for_slot(urgent)
        try:
            yield
        finally:
            with self._condition:
                self._free_slots += 1
                self._condition.notify_all()

    def _wait_for_slot(self, urgent: bool) -> None:  # noqa: FBT001 - the caller's own word
        with self._condition:
            self._urgent_waiting += urgent
            self._condition.wait_for(
                lambda: self._free_slots and (urgent or not self._urgent_waiting)
            )
            self._urgent_waiting -= urgent
            self._free_slots -= 1


BatchT = TypeVar("BatchT")


@dataclass(frozen=True, slots=True)
class ThreadBudget:
    """The processor as the settings share it out: all models together use so many threads."""

    threads: int
    semaphore: PrioritySemaphore

    @classmethod
    def from_max_threads(cls, max_threads: int) -> "ThreadBudget":
        """As many as the settings allow: 0 is every core, and never more than there are."""
        existing = os.cpu_count() or 1
        threads = min(max_threads, existing) if max_threads > 0 else existing
        return cls(threads, PrioritySemaphore(threads))


class BatchRunner:
    """The threads of one loaded model."""

    def __init__(self, thread_budget: ThreadBudget) -> None:
        self._semaphore = thread_budget.semaphore
        self._pool = ThreadPoolExecutor(thread_budget.threads, thread_name_prefix="inference")

    def run_batches(
        self,
        batches: Iterable[BatchT],
        run: Callable[[BatchT], None],
        cancel: CancelToken,
        *,
        urgent: bool = False,
    ) -> None:
        """Run every batch; between batches others may pass, and a cancel ends it."""

        def run_one(batch: BatchT) -> None:
            with self._semaphore.acquire(urgent=urgent):
                if not cancel.is_cancelled:
                    run(batch)

        runs = [self._pool.submit(run_one, batch) for batch in batches]
        try:
            for done in runs:
                done.result()
        finally:
            for left in runs:  # after a failure nobody wants the rest
                left.cancel()
        if cancel.is_cancelled:
            raise Cancelled("the model's work was cancelled")

    def run_urgent(self, batch: BatchT, run: Callable[[BatchT], None]) -> None:
        """Run one batch before all bulk work, on the caller's thread."""
        with self._semaphore.acquire(urgent=True):
            run(batch)

    def close(self) -> None:
        """End the threads once their batches are done."""
        self._pool.shutdown()
