"""Lines of JSON, read from bytes as they come: what Ollama streams."""

from collections.abc import Iterator

from kernel.llm.sse import LONGEST_EVENT_BYTES, EventTooLong


class JsonLines:
    """Bytes in, finished lines out; remembers only the line that is not."""

    def __init__(self, longest_line_bytes: int = LONGEST_EVENT_BYTES) -> None:
        self._longest = longest_line_bytes
        self._line = bytearray()

    def feed(self, piece: bytes) -> Iterator[str]:
        """Yield every line that ends in ``piece``, without its end; blank ones are left out."""
        *ended, begun = piece.split(b"\n")
        for part in ended:
            self._line += part
            line = bytes(self._line)
            self._line.clear()
            if line.strip():
                yield line.decode("utf-8", errors="replace")
        self._line += begun
        if len(self._line) > self._longest:
            raise EventTooLong

    def rest(self) -> str | None:
        """Take the last line, if nothing ended it."""
        line = bytes(self._line)
        self._line.clear()
        return line.decode("utf-8", errors="replace") if line.strip() else None
