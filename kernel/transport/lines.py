"""A stream of bytes cut into lines, with a limit on how long a line may be."""

from collections.abc import Iterator

# A question with a long paste is a few MB; nothing honest is longer. Beyond it a line is thrown
# away while it arrives, so that no peer can fill our memory with one line.
LINE_LIMIT_BYTES = 16 * 1024 * 1024
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
    """Feed it chunks in any size; it gives back the lines they complete, blank ones left out."""

    def __init__(self, limit_bytes: int = LINE_LIMIT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._parts: list[bytes] = []
        self._length = 0

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """The lines that end inside this chunk."""
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._hold(end)
            yield from self.finish()
        self._hold(rest)

    def finish(self) -> Iterator[Line]:
        """What is held back, as a line; a peer may forget the last newline."""
        held, length = b"".join(self._parts), self._length
        self._parts.clear()
        self._length = 0
        if length > self._limit_bytes:
            yield OversizedLine(held[:KEPT_PREFIX_BYTES], length)
        elif not held.isspace() and held:
            yield held

    def _hold(self, part: bytes) -> None:
        if not part:
            return
        self._length += len(part)
        if self._length <= self._limit_bytes:
            self._parts.append(part)
        elif len(self._parts) != 1 or len(self._parts[0]) > KEPT_PREFIX_BYTES:
            self._parts = [b"".join([*self._parts, part])[:KEPT_PREFIX_BYTES]]
