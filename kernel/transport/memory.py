"""A channel without a process behind it, so that everything above can be driven in memory."""

import queue
from collections.abc import Iterator

from kernel.transport.lines import Line, LineSplitter


class MemoryChannel:
    """Bytes put in by ``feed`` arrive as lines; lines sent come out of ``sent``."""

    def __init__(self) -> None:
        self._incoming: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.sent: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def feed(self, content: bytes) -> None:
        """Let these bytes arrive; empty bytes are the end of the stream."""
        self._incoming.put(content)

    def lines(self) -> Iterator[Line]:
        """Each line that was fed, until the end was."""
        splitter = LineSplitter()
        while chunk := self._incoming.get():
            yield from splitter.feed(chunk)
        yield from splitter.finish()

    def send(self, line: bytes) -> None:
        """Keep the line for the reader of ``sent``."""
        self.sent.put(line)

    def close(self, timeout_seconds: float) -> bool:  # noqa: ARG002 - nothing can be slow here
        """Everything sent is already delivered."""
        return True
