"""The token by which running work learns that nobody wants it any more."""

import threading
from typing import Self
from weakref import WeakSet


class CancelToken:
    """Set once, from any thread; long work looks at it between its steps."""

    __slots__ = ("__weakref__", "_children", "_event", "_lock")

    def __init__(self) -> None:
        self._event = threading.Event()
        self._children: WeakSet[Self] = WeakSet()
        self._lock = threading.Lock()

    @property
    def cancelled(self) -> bool:
        """Whether the work should end now."""
        return self._event.is_set()

    def cancel(self) -> None:
        """Ask the work to end; asking twice is harmless."""
        self._event.set()
        with self._lock:
            children = tuple(self._children)
        for child in children:
            child.cancel()

    def child(self) -> Self:
        """A token for a part of the work: cancelled with this one, or by itself."""
        child = type(self)()
        with self._lock:
            self._children.add(child)
        if self.cancelled:
            child.cancel()
        return child

    def wait(self, timeout_seconds: float) -> bool:
        """Sleep unless cancelled first; true if cancelled."""
        return self._event.wait(timeout_seconds)
