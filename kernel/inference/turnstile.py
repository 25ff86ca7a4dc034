"""Who may run a model next: as many at once as there are threads, and people before bulk work."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turnstile:
    """Lets ``places`` runs through at a time; an urgent one goes before every waiting bulk one.

    Bulk work passes once per small batch, so an urgent run waits for one batch at the most.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._urgent = 0
        self._changed = threading.Condition()

    @contextmanager
    def passing(self, *, urgent: bool) -> Iterator[None]:
        """Hold one place for as long as the block lasts."""
        self._enter(urgent)
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify_all()

    def _enter(self, urgent: bool) -> None:  # noqa: FBT001 - the caller's own word
        with self._changed:
            self._urgent += urgent
            self._changed.wait_for(lambda: self._free and (urgent or not self._urgent))
            self._urgent -= urgent
            self._free -= 1
