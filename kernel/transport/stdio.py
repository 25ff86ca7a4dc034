"""The claimed stdin and stdout as a channel: the caller reads lines, one thread writes them."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from kernel.transport.channel import PIECE_BYTES, LongLine
from kernel.transport.descriptors import Wire
from kernel.transport.lines import Line, LineSplitter

READ_SIZE_BYTES = 64 * 1024
# The system call is the largest cost of a short reply; joining those that wait pays it once.
JOINED_WRITE_BYTES = 64 * 1024
# A peer that stops reading must not fill our memory: beyond this, senders wait for it.
UNWRITTEN_LIMIT_BYTES = 64 * 1024 * 1024


class StdioChannel:
    """Lines over two descriptors."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._waiting: deque[bytes | LongLine] = deque()
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

    def lines(self) -> Iterator[Line]:
        """Each line from stdin, until its end."""
        splitter = LineSplitter()
        while chunk := self._read():
            yield from splitter.feed(chunk)
        yield from splitter.finish()

    def send(self, line: bytes | LongLine) -> None:
        """Queue one line for the writer thread."""
        with self._changed:
            while self._waiting_bytes > UNWRITTEN_LIMIT_BYTES and not self._closed:
                self._changed.wait()
            if self._closed:
                return
            self._waiting.append(line)
            self._waiting_bytes += _weight(line)
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
            return self._wire.read(READ_SIZE_BYTES)
        except OSError:  # on Windows the end of a pipe can be an error
            return b""

    def _write_all(self, on_broken: Callable[[OSError], None]) -> None:
        while content := self._next_write():
            try:
                for piece in content:
                    self._wire.write(piece)
            except OSError as error:
                self._give_up()
                on_broken(error)
                return

    def _next_write(self) -> Iterable[bytes]:
        """Every waiting line up to one write's worth; empty once closed and all is written."""
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            joined: list[bytes] = []
            size = 0
            while self._waiting and size < JOINED_WRITE_BYTES:
                line = self._waiting[0]
                if isinstance(line, LongLine):
                    if not joined:
                        self._waiting.popleft()
                        self._waiting_bytes -= _weight(line)
                        self._changed.notify_all()
                        return chain(line.pieces(), (b"\n",))
                    break
                self._waiting.popleft()
                joined += (line, b"\n")
                size += len(line)
            self._waiting_bytes -= size
            self._changed.notify_all()
        return (b"".join(joined),) if joined else ()

    def _give_up(self) -> None:
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._changed.notify_all()


def _weight(line: bytes | LongLine) -> int:
    """What a waiting line takes of the memory that is shared by all."""
    return PIECE_BYTES if isinstance(line, LongLine) else len(line)
