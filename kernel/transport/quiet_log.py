"""A log that an attacker cannot fill: events are counted, and told in one line now and then."""

import logging
import threading
import time

LINE_INTERVAL_SECONDS = 10.0


class QuietLog:
    """Writes the first of many events at once, and the number of those that follow later."""

    def __init__(self, logger: logging.Logger, subject: str) -> None:
        self._logger = logger
        self._subject = subject
        self._lock = threading.Lock()
        self._unsaid = 0
        self._next_at = 0.0

    def note(self, reason: object) -> None:
        """Count an event; ``reason`` may hold anything a stranger has sent."""
        with self._lock:
            self._unsaid += 1
            now = time.monotonic()
            if now < self._next_at:
                return
            count, self._unsaid = self._unsaid, 0
            self._next_at = now + LINE_INTERVAL_SECONDS
        more = f" ({count} in all since the last line)" if count > 1 else ""
        self._logger.info("%s: %s%s", self._subject, ascii(str(reason))[1:-1][:200], more)
