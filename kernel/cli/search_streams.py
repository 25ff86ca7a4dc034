"""How a search speaks: results on stdout for whoever reads it, remarks on stderr."""

import errno
import sys
from collections.abc import Callable, Iterable
from typing import TextIO

from kernel.cli.safe_streams import write_styled
from kernel.domain.terminal_text import escape_line
from kernel.errors import StorageError

# Writing to a pipe that nobody reads any more; Windows calls it an invalid argument.
PIPE_CLOSED = {errno.EPIPE, errno.EINVAL}


def say(sentence: str) -> None:
    """A remark for the person, beside the results."""
    sys.stderr.write(f"codekernel: {escape_line(sentence)}\n")
    sys.stderr.flush()


def print_line(text: str) -> None:
    """A line of a report, on stdout; what it quotes cannot command a terminal."""
    print(escape_line(text), flush=True)


def write_lines(lines: Iterable[str]) -> None:
    """Write to stdout for as long as somebody reads it; raises StorageError if it is full."""
    try:
        for line in lines:
            write_styled(sys.stdout, f"{line}\n")
        sys.stdout.flush()
    except OSError as error:
        if error.errno not in PIPE_CLOSED:
            raise StorageError(f"stdout cannot be written: {error.strerror}") from error


def speak_utf_8(stream: TextIO) -> None:
    """Let a pipe carry every text and every file's name; a terminal keeps its own encoding."""
    reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
    if reconfigure is None:
        return
    if stream.isatty():
        reconfigure(errors="backslashreplace")
    else:
        reconfigure(encoding="utf-8", errors="surrogateescape")
