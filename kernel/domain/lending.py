"""Things that several borrowers share: opened for the first, closed after the last."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class _Entry(Generic[Value]):
    """A shared thing and its borrowers; the lock makes a second opener wait for the first."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.values: list[Value] = []
        self.borrowers = 0


class Lending(Generic[Key, Value]):
    """At most one open value per key."""

    def __init__(self, close: Callable[[Value], None]) -> None:
        self._close = close
        self._entries: dict[Key, _Entry[Value]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def lend(self, key: Key, open_value: Callable[[], Value]) -> Iterator[Value]:
        """The value of ``key`` for as long as the block lasts."""
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            entry.borrowers += 1
        try:
            with entry.lock:
                if not entry.values:
                    entry.values.append(open_value())
            yield entry.values[0]
        finally:
            self._give_back(key, entry)

    def _give_back(self, key: Key, entry: _Entry[Value]) -> None:
        with self._lock:
            entry.borrowers -= 1
            if entry.borrowers:
                return
        with entry.lock:  # whoever comes while it is being closed waits, then opens it anew
            with self._lock:
                wanted_again = bool(entry.borrowers)
            if wanted_again:
                return
            for value in entry.values:
                self._close(value)
            entry.values.clear()
            with self._lock:
                if not entry.borrowers and self._entries.get(key) is entry:
                    del self._entries[key]
