"""The two channels: StdioChannel over the claimed stdin and stdout with one writer thread.

MemoryChannel for a kernel in the same process. Both bound what is queued by its bytes
(backpressure).
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Generic, TypeVar

from codekernel.transport.descriptors import StdioPipe
from codekernel.transport.lines import (
    KEPT_PREFIX_BYTES,
    MAX_LINE_BYTES,
    SPOOL_PIECE_BYTES,
    Line,
    LineSplitter,
    OversizedLine,
    SpooledLine,
)

READ_CHUNK_BYTES = 64 * 1024

# The system call is the largest cost of a short reply; joining those that wait pays it once.
MAX_BATCHED_WRITE_BYTES = 64 * 1024

# A peer that stops reading must not fill our memory: beyond this, senders wait for it.
MAX_UNWRITTEN_BYTES = 64 * 1024 * 1024


class StdioChannel:
    """Lines over two descriptors."""

    def __init__(self, wire: StdioPipe) -> None:
        self._pipe = wire
        self._waiting: deque[bytes | SpooledLine] = deque()
        self._waiting_bytes = 0
        self._changed = threading.Condition()
        self._closed = False
        self._writer: threading.Thread | None = None

    def start(self, on_broken: Callable[[OSError], None]) -> None:
        """Begin to write; ``on_broken`` is called once if the peer stops listening."""
        self._writer = threading.Thread(
            target=self._write_all, args=(on_broken,), name="stdout", daemon=True
        )
        self._writer.start()

    def iter_lines(self) -> Iterator[Line]:
        """Each line from stdin, until its end."""
        splitter = LineSplitter()
        while chunk := self._read():
            yield from splitter.feed(chunk)
        yield from splitter.flush()

    def send(self, line: bytes | SpooledLine) -> None:
        """Queue one line for the writer thread."""
        with self._changed:
            while self._waiting_bytes > MAX_UNWRITTEN_BYTES and not self._closed:
                self._changed.wait()
            if self._closed:
                return
            self._waiting.append(line)
            self._waiting_bytes += _count_line_bytes(line)
            if len(self._waiting) == 1:
                self._changed.notify_all()

    def close(self, timeout_seconds: float) -> bool:
        """Let the writer finish what is queued, then end it."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._writer is None:
            return not self._waiting
        self._writer.join(timeout_seconds)
        return not self._writer.is_alive()

    def _read(self) -> bytes:
        try:
            return self._pipe.read(READ_CHUNK_BYTES)
        except OSError:  # on Windows the end of a pipe can be an error
            return b""

    def _write_all(self, on_broken: Callable[[OSError], None]) -> None:
        while content := self._next_write():
            try:
                for piece in content:
                    self._pipe.write(piece)
            except OSError as error:
                self._discard_queue()
                on_broken(error)
                return

    def _next_write(self) -> Iterable[bytes]:
        """Every waiting line up to one write's worth; empty once closed and all is written."""
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            joined: list[bytes] = []
            size = 0
            while self._waiting and size < MAX_BATCHED_WRITE_BYTES:
                line = self._waiting[0]
                if isinstance(line, SpooledLine):
                    if not joined:
                        self._waiting.popleft()
                        self._waiting_bytes -= _count_line_bytes(line)
                        self._changed.notify_all()
                        return chain(line.iter_pieces(), (b"\n",))
                    break
                self._waiting.popleft()
                joined += (line, b"\n")
                size += len(line)
            self._waiting_bytes -= size
            self._changed.notify_all()
        return (b"".join(joined),) if joined else ()

    def _discard_queue(self) -> None:
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._changed.notify_all()


def _count_line_bytes(line: bytes | SpooledLine) -> int:
    """What a waiting line takes of the memory that is shared by all."""
    return SPOOL_PIECE_BYTES if isinstance(line, SpooledLine) else len(line)


# Whoever does not read must not fill our memory: beyond this, the other side waits. As for a pipe.
MAX_QUEUED_BYTES = 64 * 1024 * 1024

Item = TypeVar("Item")


class MemoryChannel:
    """Lines to and from a kernel of the same process."""

    def __init__(self) -> None:
        self._input: _BoundedQueue[bytes] = _BoundedQueue(len)
        self._output: _BoundedQueue[bytes | SpooledLine] = _BoundedQueue(_count_queued_bytes)

    def iter_lines(self) -> Iterator[Line]:
        """Each line that was posted, until ``end``."""
        for line in self._input:
            yield _limit_length(line)

    def send(self, line: bytes | SpooledLine) -> None:
        """Let the other side have a line; waits while it has too many."""
        self._output.put(line, wait=True)

    def close(self, timeout_seconds: float) -> bool:
        """Take no more, in either direction; whether everything sent was taken in time."""
        self._input.close()
        self._output.close()
        return self._output.wait_until_empty(timeout_seconds)

    def post(self, line: bytes, *, urgent: bool = False) -> bool:
        """Let the kernel have a line; false if it takes no more.

        Waits while the kernel has too many, unless it is ``urgent``: answers to the kernel, and
        stops. Whoever reads the kernel's lines may post nothing else, or both would wait.
        """
        return self._input.put(line, wait=not urgent)

    def iter_sent(self) -> Iterator[bytes | SpooledLine]:
        """Each line that the kernel sends, until it has closed."""
        return iter(self._output)

    def end_input(self) -> None:
        """Post no more; the kernel hears the end of its input."""
        self._input.close()


class _BoundedQueue(Generic[Item]):
    """A queue in one direction; bounded by what its items weigh, and with an end."""

    def __init__(self, weigh: Callable[[Item], int]) -> None:
        self._count_bytes = weigh
        self._waiting: deque[Item] = deque()
        self._waiting_bytes = 0
        self._closed = False
        self._changed = threading.Condition()

    def put(self, item: Item, *, wait: bool) -> bool:
        with self._changed:
            while wait and self._waiting_bytes > MAX_QUEUED_BYTES and not self._closed:
                self._changed.wait()
            if self._closed:
                return False
            self._waiting.append(item)
            self._waiting_bytes += self._count_bytes(item)
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
                self._waiting_bytes -= self._count_bytes(item)
                self._changed.notify_all()
            yield item


def _limit_length(line: bytes) -> Line:
    if len(line) > MAX_LINE_BYTES:
        return OversizedLine(line[:KEPT_PREFIX_BYTES], len(line))
    return line


def _count_queued_bytes(line: bytes | SpooledLine) -> int:
    """What a waiting line takes of the memory that is shared by all."""
    return SPOOL_PIECE_BYTES if isinstance(line, SpooledLine) else len(line)
