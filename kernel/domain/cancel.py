"""The token by which running work learns that nobody wants it any more."""

import threading


class CancelToken:
    """Set once, from any thread; long work looks at it between its steps."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = threading.Event()

    @property
    def cancelled(self) -> bool:
        """Whether the work should end now."""
        return self._event.is_set()

    def cancel(self) -> None:
        """Ask the work to end; asking twice is harmless."""
        self._event.set()

    def wait(self, timeout_seconds: float) -> bool:
        """Sleep unless cancelled first; true if cancelled."""
        return self._event.wait(timeout_seconds)
