"""How long a batch of files may grow before it is committed."""

import time
from collections.abc import Callable

# A checkout of many files is noticed in parts, and each of them is a list of its own: only after so
# long without a commit the first files are waited for again.
CALM_SECONDS = 2.0

# A commit takes as long for few files as for many: on a disk that others use a quarter of a second,
# so that a checkout of 1,500 files spent a quarter of its time on seven.
GROWTH = 4


class CommitPace:
    """The deadlines of batches, each ``GROWTH`` times as far away as the one before."""

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

    def begin_list(self, *, are_known: bool = False) -> None:
        """Begin the first batch of a list of files; if they ``are_known``, it may be larger.

        An earlier state of them is found meanwhile.
        """
        now = self._clock()
        if now - self._committed_at > CALM_SECONDS:
            self._seconds = self._first_seconds * (GROWTH if are_known else 1)
        self._deadline = now + self._seconds

    def begin_next(self) -> None:
        """Begin another batch, since one has been committed."""
        self._seconds = min(GROWTH * self._seconds, self._max_seconds)
        self._committed_at = self._clock()
        self._deadline = self._committed_at + self._seconds
