"""How long a store that failed is left alone."""

import logging
import time
from collections.abc import Callable

from codekernel.sharing.object_store import StoreUnavailable

logger = logging.getLogger(__name__)

# Doubled with each failure in a row.
MIN_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 15.0, 600.0


class StoreBackoff:
    """``problem`` says in words why the store is left alone; empty while it answers."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.problem = ""
        self._clock = clock
        self._failures = 0
        self._retry_at = -float("inf")

    @property
    def is_over(self) -> bool:
        """Whether the store may be asked."""
        return self._clock() >= self._retry_at

    def note_success(self) -> None:
        """The store has answered."""
        if self.problem:
            logger.info("the team's store answers again")
        self._failures, self.problem = 0, ""

    def note_failure(self, error: StoreUnavailable) -> None:
        """The store has failed: leave it alone, and say once why."""
        if str(error) != self.problem:
            logger.warning("%s. Texts are embedded here meanwhile.", error)
        self.problem = str(error)
        wait = min(MIN_BACKOFF_SECONDS * 2**self._failures, MAX_BACKOFF_SECONDS)
        self._failures += 1
        self._retry_at = self._clock() + wait
