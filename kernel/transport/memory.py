"""A channel without descriptors: the kernel and whoever asks it are threads of one process.

The kernel's side is a Channel like any other; ``post`` and ``received`` are the other side.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from kernel.transport.channel import PIECE_BYTES, LongLine
from kernel.transport.lines import KEPT_PREFIX_BYTES, LINE_LIMIT_BYTES, Line, OversizedLine

# Whoever does not read must not fill our memory: beyond this, the other side waits. As for a pipe.
WAITING_LIMIT_BYTES = 64 * 1024 * 1024

Item = TypeVar("Item")


class MemoryChannel:
    """Lines to and from a kernel of the same process."""

    def __init__(self) -> None:
        self._inwards: _Way[bytes] = _Way(len)
        self._outwards: _Way[bytes | LongLine] = _Way(_weight)

    def lines(self) -> Iterator[Line]:
        """Each line that was posted, until ``end``."""
        for line in self._inwards:
            yield _limited(line)

    def send(self, line: bytes | LongLine) -> None:
        """Let the other side have a line; waits while it has too many."""
        self._outwards.put(line, wait=True)

    def close(self, timeout_seconds: float) -> bool:
        """Take no more, in either direction; whether everything sent was taken in time."""
        self._inwards.close()
        self._outwards.close()
        return self._outwards.wait_until_empty(timeout_seconds)

    def post(self, line: bytes, *, urgent: bool = False) -> bool:
        """Let the kernel have a line; false if it takes no more.

        Waits while the kernel has too many, unless it is ``urgent``: answers to the kernel, and
        stops. Whoever reads the kernel's lines may post nothing else, or both would wait.
        """
        return self._inwards.put(line, wait=not urgent)

    def received(self) -> Iterator[bytes | LongLine]:
        """Each line that the kernel sends, until it has closed."""
        return iter(self._outwards)

    def end(self) -> None:
        """Post no more; the kernel hears the end of its input."""
        self._inwards.close()


class _Way(Generic[Item]):
    """A queue in one direction; bounded by what its items weigh, and with an end."""

    def __init__(self, weigh: Callable[[Item], int]) -> None:
        self._weigh = weigh
        self._waiting: deque[Item] = deque()
        self._waiting_bytes = 0
        self._closed = False
        self._changed = threading.Condition()

    def put(self, item: Item, *, wait: bool) -> bool:
        with self._changed:
            while wait and self._waiting_bytes > WAITING_LIMIT_BYTES and not self._closed:
                self._changed.wait()
            if self._closed:
                return False
            self._waiting.append(item)
            self._waiting_bytes += self._weigh(item)
            self._changed.notify_all()
            return True

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def wait_until_empty(self, timeout_seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting, timeout_seconds)

    def __iter__(self) -> Iterator[Item]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting) or self._closed)
                if not self._waiting:
                    return
                item = self._waiting.popleft()
                self._waiting_bytes -= self._weigh(item)
                self._changed.notify_all()
            yield item


def _limited(line: bytes) -> Line:
    if len(line) > LINE_LIMIT_BYTES:
        return OversizedLine(line[:KEPT_PREFIX_BYTES], len(line))
    return line


def _weight(line: bytes | LongLine) -> int:
    """What a waiting line takes of the memory that is shared by all."""
    return PIECE_BYTES if isinstance(line, LongLine) else len(line)
