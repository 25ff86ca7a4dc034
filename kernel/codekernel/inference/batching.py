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
    """Return batches of positions in ``lengths``, longest first.

    A text longer than a batch has one of its own. Longest first, because the last batch to end
    decides when all are done.
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
    """Lets ``slots`` runs in at a time; an urgent one goes before every waiting bulk one.

    Bulk work acquires a slot per small batch, so an urgent run waits for at most one batch.
    """

    def __init__(self, slots: int) -> None:
        self._free_slots = slots
        self._urgent_waiting = 0
        self._condition = threading.Condition()

    @contextmanager
    def acquire(self, *, urgent: bool) -> Iterator[None]:
        """Hold one slot for as long as the block lasts."""
        with self._condition:
            self._urgent_waiting += urgent
            self._condition.wait_for(
                lambda: self._free_slots and (urgent or not self._urgent_waiting)
            )
            self._urgent_waiting -= urgent
            self._free_slots -= 1
        try:
            yield
        finally:
            with self._condition:
                self._free_slots += 1
                self._condition.notify_all()


BatchT = TypeVar("BatchT")


@dataclass(frozen=True, slots=True)
class ThreadBudget:
    """How many threads all models together use, as the settings say."""

    threads: int
    semaphore: PrioritySemaphore

    @classmethod
    def from_max_threads(cls, max_threads: int) -> "ThreadBudget":
        """Return the budget for a setting; 0 is every core, and never more than there are."""
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
        """Run every batch; between batches urgent work may run. Raises Cancelled."""

        def run_one(batch: BatchT) -> None:
            with self._semaphore.acquire(urgent=urgent):
                if not cancel.is_cancelled:
                    run(batch)

        runs = [self._pool.submit(run_one, batch) for batch in batches]
        try:
            for done in runs:
                done.result()
        finally:
            for left in runs:  # after a failure the rest is not needed
                left.cancel()
        if cancel.is_cancelled:
            raise Cancelled("the model's work was cancelled")

    def run_urgent(self, batch: BatchT, run: Callable[[BatchT], None]) -> None:
        """Run one batch before all bulk work, on the caller's thread."""
        with self._semaphore.acquire(urgent=True):
            run(batch)

    def close(self) -> None:
        """Stop the threads once their batches are done."""
        self._pool.shutdown()
