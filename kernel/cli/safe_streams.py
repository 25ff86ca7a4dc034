"""stdout and stderr of the commands for people: the last fence before a terminal.

Every command escapes what it quotes; whatever is forgotten, argparse, warnings and tracebacks
included, is escaped here. Colours of our own pass where they are meant, and only on a terminal.
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from kernel.domain.terminal_text import (
    escape_all_but_own_codes,
    escape_text,
    escape_text_but_bytes,
)


class SafeStream:
    """A text stream on which no control character is written that is not ours."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_terminal = stream.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, escaped; how many characters were given."""
        keeps_bytes = not self._is_terminal and self._stream.errors == "surrogateescape"
        self._stream.write(escape_text_but_bytes(text) if keeps_bytes else escape_text(text))
        return len(text)

    def write_styled(self, text: str) -> None:
        """Write text whose quotations are escaped already; on a terminal our own codes pass."""
        if self._is_terminal:
            self._stream.write(escape_all_but_own_codes(text))
        else:
            self.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each of them."""
        for line in lines:
            self.write(line)


def write_styled(stream: TextIO, text: str) -> None:
    """Write text with colours of ours, its quotations escaped, to a stream, guarded or not."""
    if isinstance(stream, SafeStream):
        stream.write_styled(text)
    else:
        stream.write(text)


def guard_streams() -> None:
    """Put the fence before stdout and stderr; what they cannot encode is spelt out."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None or isinstance(stream, SafeStream):
            continue
        reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
        if reconfigure and stream.errors == "strict":
            reconfigure(errors="backslashreplace")
        setattr(sys, name, SafeStream(stream))
