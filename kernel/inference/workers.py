"""Running the batches of one model: several at once, people first, and an end when cancelled."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from kernel.domain.cancel import CancelToken
from kernel.errors import Cancelled
from kernel.inference.turnstile import Turnstile

Batch = TypeVar("Batch")


@dataclass(frozen=True, slots=True)
class Cores:
    """The processor as the settings share it out: all models together use so many threads."""

    threads: int
    turnstile: Turnstile

    @classmethod
    def of(cls, max_threads: int) -> "Cores":
        """As many as the settings allow: 0 is every core, and never more than there are."""
        existing = os.cpu_count() or 1
        threads = min(max_threads, existing) if max_threads > 0 else existing
        return cls(threads, Turnstile(threads))


class Workers:
    """The threads of one loaded model."""

    def __init__(self, cores: Cores) -> None:
        self._turnstile = cores.turnstile
        self._pool = ThreadPoolExecutor(cores.threads, thread_name_prefix="inference")

    def run_all(
        self,
        batches: Iterable[Batch],
        run: Callable[[Batch], None],
        cancel: CancelToken,
        *,
        urgent: bool = False,
    ) -> None:
        """Run every batch; between batches others may pass, and a cancel ends it."""

        def run_one(batch: Batch) -> None:
            with self._turnstile.passing(urgent=urgent):
                if not cancel.cancelled:
                    run(batch)

        runs = [self._pool.submit(run_one, batch) for batch in batches]
        try:
            for done in runs:
                done.result()
        finally:
            for left in runs:  # after a failure nobody wants the rest
                left.cancel()
        if cancel.cancelled:
            raise Cancelled("the model's work was cancelled")

    def run_now(self, batch: Batch, run: Callable[[Batch], None]) -> None:
        """Run one batch before all bulk work, on the caller's thread."""
        with self._turnstile.passing(urgent=True):
            run(batch)

    def close(self) -> None:
        """End the threads once their batches are done."""
        self._pool.shutdown()
