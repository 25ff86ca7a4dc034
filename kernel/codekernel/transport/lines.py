"""Lines: splitting a byte stream with a maximum line length, spooled lines too long for memory.

The Channel interface that every transport offers.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

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
