"""What a running program says, kept within bounds: the end of it, and how much was dropped."""

import codecs
import re
import threading
import time

# What moves the cursor, colours text or sets a title; a model reads none of it.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?"
    r"|\x1b[PX^_][^\x1b]{0,4096}\x1b\\"
    r"|\x1b[ -/]*[0-~]"
)


class TerminalOutput:
    """Written by the thread that reads the program, read by calls of tools."""

    def __init__(self, most_characters: int) -> None:
        self._most = most_characters
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._changed = threading.Condition()
        self._parts: list[str] = []
        self._length = 0
        self._dropped = 0
        self._ended = False

    @property
    def is_full(self) -> bool:
        """Whether nobody reads what is said, so that more of it only replaces the rest."""
        return self._length >= self._most

    def write(self, data: bytes) -> None:
        """The program says something."""
        text = self._decoder.decode(data)
        with self._changed:
            self._parts.append(text)
            self._length += len(text)
            if self._length > 2 * self._most:
                self._forget_the_beginning()
            self._changed.notify_all()

    def end(self) -> None:
        """The program says nothing more."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def wait_for_end(self, seconds: float) -> bool:
        """Whether everything was said within this time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._ended, seconds)

    def wait_for_quiet(self, seconds: float, quiet_seconds: float) -> None:
        """Wait until something was said and then nothing for a while, or it is too late."""
        deadline = time.monotonic() + seconds
        with self._changed:
            self._changed.wait_for(lambda: self._length or self._ended, seconds)
            while not self._ended and time.monotonic() < deadline:
                before = self._length + self._dropped
                left = min(quiet_seconds, max(0.0, deadline - time.monotonic()))
                said_more = self._changed.wait_for(
                    lambda so_far=before: self._length + self._dropped != so_far or self._ended,  # type: ignore[misc]
                    left,
                )
                if not said_more:
                    return

    def taken(self) -> str:
        """All that was said since the last time, or its end; how much is missing is said first."""
        with self._changed:
            self._forget_the_beginning()
            text, dropped = "".join(self._parts), self._dropped
            self._parts, self._length, self._dropped = [], 0, 0
        if dropped:
            return f"[... {dropped:,} earlier characters dropped ...]\n{text}"
        return text

    def _forget_the_beginning(self) -> None:
        text = "".join(self._parts)
        over = len(text) - self._most
        if over > 0:
            text = text[over:]
            self._dropped += over
        self._parts, self._length = [text], len(text)


def readable(text: str) -> str:
    """What a terminal shows, as plain text: no escapes, plain line ends."""
    return _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\x07", "")
