"""The lines of the shared kernel, as MemoryChannel has those of a kernel of this process."""

from collections.abc import Iterable, Iterator

from codekernel.client.relay import KernelLink
from codekernel.transport.lines import MAX_IN_MEMORY_BYTES, SpooledLine


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
