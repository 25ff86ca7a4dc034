"""The moment by which an exchange with an endpoint must be over, retries included."""

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point on the monotonic clock."""

    ends_at: float

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        """Set a deadline ``seconds`` from now."""
        return cls(time.monotonic() + seconds)

    def seconds_left(self) -> float:
        """How long until it passes; never negative."""
        return max(0.0, self.ends_at - time.monotonic())
