"""How long a batch of files may grow before it is committed."""

import time
from collections.abc import Callable

# A checkout of many files is noticed in parts, and each of them is a list of its own: only after so
# long without a commit the first files are waited for again.
CALM_SECONDS = 2.0


class CommitPace:
    """The deadlines of batches, each twice as far away as the one before."""

    def __init__(
        self,
        first_seconds: float,
        max_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._first_seconds = self._seconds = first_seconds
        self._max_seconds = max_seconds
        self._clock = clock
        self._committed_at = self._deadline = clock()

    @property
    def is_due(self) -> bool:
        """Return whether the batch is to be committed now."""
        return self._clock() >= self._deadline

    def begin_list(self) -> None:
        """Begin the first batch of a list of files."""
        now = self._clock()
        if now - self._committed_at > CALM_SECONDS:
            self._seconds = self._first_seconds
        self._deadline = now + self._seconds

    def begin_next(self) -> None:
        """Begin another batch, since one has been committed."""
        self._seconds = min(2 * self._seconds, self._max_seconds)
        self._committed_at = self._clock()
        self._deadline = self._committed_at + self._seconds
