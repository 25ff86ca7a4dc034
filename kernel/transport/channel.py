"""What every transport offers: lines in, lines out."""

import tempfile
from collections.abc import Iterable, Iterator
from typing import Protocol

from kernel.transport.lines import Line

PIECE_BYTES = 64 * 1024
# A longer line waits on the disk, not in memory.
LONGEST_IN_MEMORY_BYTES = 8 * 1024 * 1024


class LongLine:
    """One line too long to be held in memory twice, or at all; written once, then gone."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        """Take the line in; the newline is not part of it."""
        self._file = tempfile.SpooledTemporaryFile(LONGEST_IN_MEMORY_BYTES)  # noqa: SIM115 - the writer closes it
        try:
            self._file.writelines(pieces)
            self._file.seek(0)
        except BaseException:
            self._file.close()
            raise

    def pieces(self) -> Iterator[bytes]:
        """The line again, some of it at a time."""
        with self._file:
            while piece := self._file.read(PIECE_BYTES):
                yield piece


class Channel(Protocol):
    """A connection that carries one message per line."""

    def lines(self) -> Iterator[Line]:
        """Each line that arrives; ends when the other side has closed."""

    def send(self, line: bytes | LongLine) -> None:
        """Queue one line, newline not included; waits only while the peer refuses to read."""

    def close(self, timeout_seconds: float) -> bool:
        """Write what is queued, then end; false if the peer would not take it in time."""
