"""The shared kernel in the place of a kernel of this process, for ``codekernel web``."""

import logging
import threading
from collections.abc import Iterable, Iterator

from codekernel.client.relay import KernelLink
from codekernel.transport.lines import MAX_IN_MEMORY_BYTES, MemoryChannel, SpooledLine


class LinkChannel:
    """Sends lines to the kernel and yields those it sends; as MemoryChannel, from outside."""

    def __init__(self, link: KernelLink) -> None:
        self._link = link
        self._is_closed = False

    def post(self, line: bytes, *, urgent: bool = False) -> bool:  # noqa: ARG002 - as MemoryChannel
        """Send a line; false once there is no kernel."""
        if not self._is_closed:
            self._link.send(line + b"\n")
        return not self._is_closed

    def iter_sent(self) -> Iterator[bytes | SpooledLine]:
        """Yield each line of the kernel, until the end; one too long for memory is spooled."""
        pieces = _PieceReader(self._link.iterate_output())
        while (line := pieces.read_line()) is not None:
            yield line
        self._is_closed = True

    def end_input(self) -> None:
        """Let the kernel end this client in order."""
        self._link.end_input()


class _PieceReader:
    """Joins pieces to lines."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def read_line(self) -> bytes | SpooledLine | None:
        held: list[bytes] = []
        size = 0
        for part, is_end in self._iterate_parts():
            held.append(part)
            size += len(part)
            if is_end:
                return b"".join(held)
            if size > MAX_IN_MEMORY_BYTES:
                return SpooledLine(_chain(held, self._iterate_parts()))
        return None

    def _iterate_parts(self) -> Iterator[tuple[bytes, bool]]:
        """Yield the parts of one line, the last one with true."""
        while True:
            line, newline, rest = self._rest.partition(b"\n")
            self._rest = rest
            if newline:
                yield line, True
                return
            if line:
                yield line, False
            chunk = next(self._pieces, None)
            if chunk is None:
                return
            self._rest = chunk


def _chain(held: list[bytes], parts: Iterable[tuple[bytes, bool]]) -> Iterator[bytes]:
    yield from held
    for part, _ in parts:
        yield part


logger = logging.getLogger(__name__)

# For the host to take what the kernel sent last.
FLUSH_TIMEOUT_SECONDS = 3.0


class LinkedKernel:
    """Answers the lines of a channel by the kernel that all clients share."""

    def __init__(self, channel: MemoryChannel, link: KernelLink) -> None:
        self._channel = channel
        self._link = link
        self._has_crashed = False

    def run(self) -> int:
        """Carry lines until stopped, or until no kernel can be had; return the exit code."""
        # Two threads, because a kernel that waits to be read may not be waited for.
        threading.Thread(target=self._send_lines, name="link", daemon=True).start()
        for line in LinkChannel(self._link).iter_sent():
            self._channel.send(line)
        is_flushed = self._channel.close(FLUSH_TIMEOUT_SECONDS)
        return 0 if is_flushed and not self._has_crashed and not self._link.is_lost else 1

    def stop(self) -> None:
        """End this client and its sessions, in order; callable from a signal handler."""
        self._link.end_input()

    def crash(self, error: BaseException) -> None:
        """End because this client itself is broken; the kernel goes on."""
        logger.critical("this client crashed", exc_info=error)
        self._has_crashed = True
        self._link.close()
        self._channel.close(0)

    def _send_lines(self) -> None:
        for line in self._channel.iter_lines():
            if isinstance(line, bytes):  # the host refuses longer ones itself
                self._link.send(line + b"\n")
