"""The token by which running work learns that nobody wants it any more."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self
from weakref import WeakSet


class CancelToken:
    """Set once, from any thread; long work looks at it between its steps."""

    __slots__ = ("__weakref__", "_children", "_event", "_lock", "_told")

    def __init__(self) -> None:
        self._event = threading.Event()
        self._children: WeakSet[Self] = WeakSet()
        self._told: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    @property
    def cancelled(self) -> bool:
        """Whether the work should end now."""
        return self._event.is_set()

    def cancel(self) -> None:
        """Ask the work to end; asking twice is harmless."""
        self._event.set()
        with self._lock:
            children, told = tuple(self._children), tuple(self._told)
        for tell in told:
            tell()
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

    @contextmanager
    def telling(self, tell: Callable[[], None]) -> Iterator[None]:
        """Have ``tell`` called, perhaps twice, if this is cancelled before the end of the block.

        For work that cannot look at the token itself; ``tell`` must not block.
        """
        with self._lock:
            self._told.append(tell)
        try:
            if self.cancelled:
                tell()
            yield
        finally:
            with self._lock:
                self._told.remove(tell)

    def wait(self, timeout_seconds: float) -> bool:
        """Sleep unless cancelled first; true if cancelled."""
        return self._event.wait(timeout_seconds)
