"""Server-sent events, read from bytes as they come, to the letter of the WHATWG specification.

Only the data of an event matters to a chat; its name, its id and the server's wish for a pause
before reconnecting are read over.
"""

from collections.abc import Iterator

# A delta has some hundred bytes, a whole answer sent as one event some hundred thousand.
LONGEST_EVENT_BYTES = 8 * 1024 * 1024

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventTooLong(Exception):
    """An event that does not end; whatever sends it is no chat endpoint."""


class EventStream:
    """Bytes in, the data of each finished event out; remembers only the event that is not."""

    def __init__(self, longest_event_bytes: int = LONGEST_EVENT_BYTES) -> None:
        self._longest = longest_event_bytes
        self._line = bytearray()
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._at_beginning = True
        self._after_return = False

    def feed(self, piece: bytes) -> Iterator[str]:
        """Yield the data of every event that ends in ``piece``."""
        if not piece:
            return
        if self._after_return:
            # The other half of a CRLF that was cut between two pieces.
            piece = piece.removeprefix(b"\n")
        for part in piece.splitlines(keepends=True):
            ending = part.endswith((b"\n", b"\r"))
            self._line += part.rstrip(b"\r\n") if ending else part
            if len(self._line) + self._data_bytes > self._longest:
                raise EventTooLong
            if ending:
                line = bytes(self._line)
                self._line.clear()
                yield from self._take(line)
        # Not waited for: the line has ended already, whatever comes next.
        self._after_return = piece.endswith(b"\r")

    def rest(self) -> str | None:
        """Data of an event that the end of the stream cut off, which some servers do to the last.

        The specification discards it; whoever asks has to judge whether it is whole.
        """
        line = bytes(self._line)
        self._line.clear()
        for _ in self._take(line) if line else ():
            pass
        return next(self._take(b""), None)

    def _take(self, line: bytes) -> Iterator[str]:
        if self._at_beginning:
            self._at_beginning = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if not line:
            if self._data:
                yield b"\n".join(self._data).decode("utf-8", errors="replace")
            self._data.clear()
            self._data_bytes = 0
            return
        # A line that begins with the colon is a comment: its field has no name.
        name, _, value = line.partition(b":")
        if name == b"data":
            value = value.removeprefix(b" ")
            self._data.append(value)
            self._data_bytes += len(value) + 1
