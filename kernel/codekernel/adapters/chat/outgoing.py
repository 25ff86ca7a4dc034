"""When a chat may be written to again: a minimum interval, and so many messages per minute."""

from collections import deque
from dataclasses import dataclass, field

_MINUTE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class RateLimit:
    """What a platform allows in one chat; ``max_per_minute`` 0 means no such limit."""

    interval_seconds: float
    max_per_minute: int = 0


@dataclass(slots=True)
class ChatPace:
    """The rate of one chat; ``due_at`` is a time of the caller's clock, in seconds."""

    limit: RateLimit
    due_at: float = 0.0
    _recent: deque[float] = field(default_factory=deque)

    def record(self, now: float) -> None:
        """Note that something was sent."""
        self.due_at = max(self.due_at, now + self.limit.interval_seconds)
        if self.limit.max_per_minute:
            self._recent.append(now)
            if len(self._recent) >= self.limit.max_per_minute:
                oldest = self._recent.popleft()
                self.due_at = max(self.due_at, oldest + _MINUTE_SECONDS)

    def postpone(self, now: float, seconds: float) -> None:
        """Wait as long as the platform has asked for."""
        self.due_at = max(self.due_at, now + seconds)
