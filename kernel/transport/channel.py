"""What every transport offers: lines in, lines out."""

from collections.abc import Iterator
from typing import Protocol

from kernel.transport.lines import Line


class Channel(Protocol):
    """A connection that carries one message per line."""

    def lines(self) -> Iterator[Line]:
        """Each line that arrives; ends when the other side has closed."""

    def send(self, line: bytes) -> None:
        """Queue one line, newline not included; waits only while the peer refuses to read."""

    def close(self, timeout_seconds: float) -> bool:
        """Write what is queued, then end; false if the peer would not take it in time."""
