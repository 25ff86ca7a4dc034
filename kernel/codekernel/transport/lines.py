"""Lines: splitting a byte stream with a maximum line length, spooled lines too long for memory.

The Channel interface that every transport offers, and the two channels, both with a bounded output
queue (backpressure): StreamChannel writes to the claimed stdout or to a socket with one thread;
MemoryChannel connects a kernel in the same process.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object

# A question with a long paste is a few MB. A longer line is discarded while it arrives, so that no
# peer can fill our memory with one line.
MAX_LINE_BYTES = 16 * 1024 * 1024

# Enough of an over-long line to find its callbackId, which every known client writes early.
KEPT_PREFIX_BYTES = 4096


class OversizedLine:
    """A line longer than the limit: its beginning, and how long it really was."""

    __slots__ = ("length", "prefix")

    def __init__(self, prefix: bytes, length: int) -> None:
        self.prefix = prefix
        self.length = length


Line = bytes | OversizedLine


class LineSplitter:
    """Takes bytes in pieces of any size and yields complete lines, without blank ones."""

    def __init__(self, limit_bytes: int = MAX_LINE_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._parts: list[bytes] = []
        self._length = 0

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """Yield the lines that end inside this chunk."""
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._append(end)
            yield from self.flush()
        self._append(rest)

    def flush(self) -> Iterator[Line]:
        """Yield the rest as a line; a peer may omit the last newline."""
        held, length = b"".join(self._parts), self._length
        self._parts.clear()
        self._length = 0
        if length > self._limit_bytes:
            yield OversizedLine(held[:KEPT_PREFIX_BYTES], length)
        elif not held.isspace() and held:
            yield held

    def _append(self, part: bytes) -> None:
        if not part:
            return
        self._length += len(part)
        if self._length <= self._limit_bytes:
            self._parts.append(part)
        elif len(self._parts) != 1 or len(self._parts[0]) > KEPT_PREFIX_BYTES:
            self._parts = [b"".join([*self._parts, part])[:KEPT_PREFIX_BYTES]]


SPOOL_PIECE_BYTES = 64 * 1024

# A longer line waits on the disk, not in memory.
MAX_IN_MEMORY_BYTES = 8 * 1024 * 1024


class SpooledLine:
    """A line too long for memory, kept in a temporary file until it is written."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        """Store the line, without its newline."""
        import tempfile  # noqa: PLC0415 - seldom needed

        self._file = tempfile.SpooledTemporaryFile(MAX_IN_MEMORY_BYTES)  # noqa: SIM115 - the writer closes it
        try:
            self._file.writelines(pieces)
            self._file.seek(0)
        except BaseException:
            self._file.close()
            raise

    def iter_pieces(self) -> Iterator[bytes]:
        """Yield the line in pieces."""
        with self._file:
            while piece := self._file.read(SPOOL_PIECE_BYTES):
                yield piece


class Channel(Protocol):
    """A connection that carries one message per line."""

    def iter_lines(self) -> Iterator[Line]:
        """Each line that arrives; ends when the other side has closed."""

    def send(self, line: bytes | SpooledLine) -> None:
        """Queue one line, newline not included; waits only while the peer refuses to read."""

    def close(self, timeout_seconds: float) -> bool:
        """Write what is queued, then end; false if the peer would not take it in time."""


READ_CHUNK_BYTES = 64 * 1024

# The system call is the largest cost of a short reply; joining those that wait pays it once.
MAX_BATCHED_WRITE_BYTES = 64 * 1024

# A peer that stops reading must not fill our memory: beyond this, senders wait for it.
MAX_QUEUED_BYTES = 64 * 1024 * 1024

# A peer that still reads at the end, but slowly, has so many times as long as one that does not.
MAX_SLOW_CLOSES = 10


class _BoundedQueue:
    """A queue of lines, bounded by their bytes; ends when it is closed and empty."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._waiting: deque[bytes | SpooledLine] = deque()
        self._waiting_bytes = 0
        self._closed = False
        self._changed = threading.Condition()

    def put(self, line: bytes | SpooledLine, *, wait: bool = True) -> bool:
        """Add a line; waits for room unless told otherwise. Returns false once closed."""
        with self._changed:
            while wait and self._waiting_bytes > self._max_bytes and not self._closed:
                self._changed.wait()
            if self._closed:
                return False
            self._waiting.append(line)
            self._waiting_bytes += _count_bytes(line)
            if len(self._waiting) == 1:
                self._changed.notify_all()
            return True

    @property
    def has_room(self) -> bool:
        """Whether ``put`` would not wait."""
        return self._waiting_bytes <= self._max_bytes

    def take(self, max_bytes: int) -> list[bytes | SpooledLine]:
        """Wait for lines and take up to so many bytes, a spooled line alone; empty at the end."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._waiting) or self._closed)
            batch: list[bytes | SpooledLine] = []
            size = 0
            while self._waiting and size < max_bytes:
                if batch and isinstance(self._waiting[0], SpooledLine):
                    break
                batch.append(self._waiting.popleft())
                size += _count_bytes(batch[-1])
                if isinstance(batch[-1], SpooledLine):
                    break
            self._waiting_bytes -= size
            self._changed.notify_all()
            return batch

    def close(self, *, discard: bool = False) -> None:
        """Accept no more lines."""
        with self._changed:
            self._closed = True
            if discard:
                self._waiting.clear()
            self._changed.notify_all()

    def wait_until_empty(self, timeout_seconds: float) -> bool:
        """Wait until everything was taken; false if that takes longer."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting, timeout_seconds)

    def __iter__(self) -> Iterator[bytes | SpooledLine]:
        while batch := self.take(1):
            yield from batch


class BytePipe(Protocol):
    """A connection of bytes: StdioPipe or SocketPipe."""

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes as soon as there are any; empty at the end."""

    def write(self, content: bytes) -> None:
        """Write everything."""


class StreamChannel:
    """Lines over a connection of bytes."""

    def __init__(self, pipe: BytePipe, max_queued_bytes: int = MAX_QUEUED_BYTES) -> None:
        self._pipe = pipe
        self._output = _BoundedQueue(max_queued_bytes)
        self._writer: threading.Thread | None = None
        self._written_batches = 0

    def start(self, on_broken: Callable[[OSError], None]) -> None:
        """Begin to write; ``on_broken`` is called once if the peer stops listening."""
        self._writer = threading.Thread(
            target=self._write_all, args=(on_broken,), name="writer", daemon=True
        )
        self._writer.start()

    def iter_lines(self) -> Iterator[Line]:
        """Yield each line that arrives, until the end."""
        splitter = LineSplitter()
        while chunk := self._read():
            yield from splitter.feed(chunk)
        yield from splitter.flush()

    def send(self, line: bytes | SpooledLine) -> None:
        """Queue one line for the writer thread."""
        self._output.put(line)

    def send_or_drop(self, line: bytes | SpooledLine) -> bool:
        """Queue one line without waiting; false if the peer leaves too much unread."""
        return self._output.has_room and self._output.put(line, wait=False)

    def close(self, timeout_seconds: float) -> bool:
        """Let the writer finish what is queued, then end it.

        False if the peer takes nothing for so long, or is ten times as slow.
        """
        self._output.close()
        if self._writer is None:
            return self._output.wait_until_empty(0)
        for _ in range(MAX_SLOW_CLOSES):
            written = self._written_batches
            self._writer.join(timeout_seconds)
            if not self._writer.is_alive():
                return True
            if self._written_batches == written:
                break
        return False

    def _read(self) -> bytes:
        try:
            return self._pipe.read(READ_CHUNK_BYTES)
        except OSError:  # on Windows the end of a pipe can be an error
            return b""

    def _write_all(self, on_broken: Callable[[OSError], None]) -> None:
        while batch := self._output.take(MAX_BATCHED_WRITE_BYTES):
            try:
                if isinstance(batch[0], SpooledLine):
                    for piece in batch[0].iter_pieces():
                        self._pipe.write(piece)
                    self._pipe.write(b"\n")
                else:
                    self._pipe.write(b"\n".join([*batch, b""]))  # type: ignore[list-item]
            except OSError as error:
                self._output.close(discard=True)
                on_broken(error)
                return
            self._written_batches += 1


class MemoryChannel:
    """Lines to and from a kernel of the same process."""

    def __init__(self, max_queued_bytes: int = MAX_QUEUED_BYTES) -> None:
        self._input = _BoundedQueue(max_queued_bytes)
        self._output = _BoundedQueue(max_queued_bytes)

    def iter_lines(self) -> Iterator[Line]:
        """Yield each posted line, until ``end_input``."""
        for line in self._input:
            if isinstance(line, bytes):
                too_long = len(line) > MAX_LINE_BYTES
                yield OversizedLine(line[:KEPT_PREFIX_BYTES], len(line)) if too_long else line

    def send(self, line: bytes | SpooledLine) -> None:
        """Send a line to the other side; waits while its queue is full."""
        self._output.put(line)

    def close(self, timeout_seconds: float) -> bool:
        """Close both directions; returns whether everything sent was taken in time."""
        self._input.close()
        self._output.close()
        return self._output.wait_until_empty(timeout_seconds)

    def post(self, line: bytes, *, urgent: bool = False) -> bool:
        """Send a line to the kernel; false if it takes no more.

        Waits while the kernel's queue is full, unless ``urgent``: answers to the kernel, and stops.
        A reader of the kernel's lines may post nothing else, or both would wait.
        """
        return self._input.put(line, wait=not urgent)

    def iter_sent(self) -> Iterator[bytes | SpooledLine]:
        """Yield each line that the kernel sends, until it has closed."""
        return iter(self._output)

    def end_input(self) -> None:
        """Close the kernel's input."""
        self._input.close()


def _count_bytes(line: bytes | SpooledLine) -> int:
    return SPOOL_PIECE_BYTES if isinstance(line, SpooledLine) else len(line)
