"""Something that many use and one closes: who is inside ends first, who comes later is told."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Closing:
    """Any number of threads may be inside at once."""

    def __init__(self) -> None:
        self._inside = 0
        self._closed = False
        self._changed = threading.Condition()

    @contextmanager
    def using(self) -> Iterator[bool]:
        """Whether it is open; if so, it stays open for as long as the block lasts."""
        with self._changed:
            is_open = not self._closed
            self._inside += is_open
        try:
            yield is_open
        finally:
            with self._changed:
                self._inside -= is_open
                self._changed.notify_all()

    def close(self) -> None:
        """Let nobody in any more and wait for those inside."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: not self._inside)
