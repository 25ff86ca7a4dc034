"""Stdout and stderr of the commands.

Escape control characters, print notices, detect colors, links and width, and wrap words.
"""

import errno
import os
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from codekernel.domain import untrusted_text
from codekernel.domain.untrusted_text import escape_line
from codekernel.errors import StorageError


def silence_logging() -> None:
    """Print no log: what matters is printed."""
    import logging  # a relay does without

    logging.getLogger().addHandler(logging.NullHandler())


class SafeStream:
    """A text stream that escapes every control character a command did not write on purpose."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_terminal = stream.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write the escaped text; return the number of characters given."""
        keeps_bytes = not self._is_terminal and self._stream.errors == "surrogateescape"
        escape = untrusted_text.escape_text
        if keeps_bytes:
            escape = untrusted_text.escape_text_keep_bytes
        self._stream.write(escape(text))
        return len(text)

    def write_styled(self, text: str) -> None:
        """Write text that was escaped before; on a terminal its colors and links are kept."""
        if self._is_terminal:
            self._stream.write(untrusted_text.escape_text_keep_ansi(text))
        else:
            self.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each line."""
        for line in lines:
            self.write(line)


def write_styled(stream: TextIO, text: str) -> None:
    """Write text with colors, escaped before, to a stream that may be a SafeStream."""
    if isinstance(stream, SafeStream):
        stream.write_styled(text)
    else:
        stream.write(text)


def install_safe_streams() -> None:
    """Wrap stdout and stderr in SafeStream; what they cannot encode becomes an escape."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None or isinstance(stream, SafeStream):
            continue
        reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
        if reconfigure and stream.errors == "strict":
            reconfigure(errors="backslashreplace")
        setattr(sys, name, SafeStream(stream))


# Writing to a pipe whose reader has closed it; Windows calls it an invalid argument.
CLOSED_PIPE_ERRNOS = {errno.EPIPE, errno.EINVAL}


def print_notice(sentence: str) -> None:
    """Print a sentence for the person to stderr."""
    sys.stderr.write(f"codekernel: {escape_line(sentence)}\n")
    sys.stderr.flush()


def print_bearer_address(url: str, token: str, token_variable: str) -> None:
    """Print the address and the token of a server, and how to choose the token."""
    print(f"{url}\nAuthorization: Bearer {token}", flush=True)
    print_notice(
        f"the token is new each time unless ${token_variable} has one; Ctrl-C stops codekernel"
    )


def print_line(text: str) -> None:
    """Print a line of a report to stdout, escaped."""
    write_lines([escape_line(text)])


class OutputStream:
    """A stream that ignores what is written after its reader has closed it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.is_closed = False

    def write(self, text: str) -> None:
        """Write and flush; raises StorageError if the disk is full."""
        if self.is_closed:
            return
        try:
            write_styled(self._stream, text)
            self._stream.flush()
        except OSError as error:
            if error.errno not in CLOSED_PIPE_ERRNOS:
                raise StorageError(f"stdout cannot be written: {error.strerror}") from error
            self.is_closed = True


def write_lines(lines: Iterable[str]) -> None:
    """Write lines to stdout and flush it; raises StorageError if the disk is full."""
    if sys.stdout:  # None if the process was started without one
        OutputStream(sys.stdout).write("".join(f"{line}\n" for line in lines))


def use_utf8(stream: TextIO) -> None:
    """Set pipes to UTF-8, which holds every file name; a terminal keeps its encoding."""
    reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
    if reconfigure is None:
        return
    if stream.isatty():
        reconfigure(errors="backslashreplace")
    else:
        reconfigure(encoding="utf-8", errors="surrogateescape")


# SGR codes of the eight colors that every theme makes readable on light and dark backgrounds.
PATH_COLOR = "35"
LINE_NUMBER_COLOR = "32"
MATCH_COLOR = "1;31"
KEYWORD_COLOR = "36"
STRING_COLOR = "33"
COMMENT_COLOR = FAINT_COLOR = "2"

# Windows' old console prints the codes themselves; newer ones set one of these.
_WINDOWS_ANSI_VARIABLES = ("WT_SESSION", "TERM_PROGRAM", "ANSICON", "ConEmuANSI", "TERM")

# Terminals that open OSC 8 links, by the variables they set. Not VS Code: it opens a plain
# path:line at the line, but a link at the top of the file.
_LINK_PROGRAMS = {"iTerm.app", "WezTerm", "ghostty"}

_LINK_TERMS = ("xterm-kitty", "xterm-ghostty", "foot", "alacritty")

_MIN_LINK_VTE_VERSION = 5000

# Set by multiplexers and ssh, which may drop or print codes that they do not know.
_MULTIPLEXER_VARIABLES = ("TMUX", "STY", "SSH_CONNECTION")

_WIDE_CLASSES = ("W", "F")


class TerminalStyle(NamedTuple):
    """The capabilities of a stream; ``width`` is in columns, 0 if it is no terminal."""

    has_colors: bool = False
    has_links: bool = False
    width: int = 0

    def colorize(self, text: str, code: str) -> str:
        """Color the text, if the stream has colors."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.has_colors and code and text else text

    def link(self, text: str, target: Path) -> str:
        """Link the text to a file, if the stream has links."""
        return f"\x1b]8;;{target.as_uri()}\x1b\\{text}\x1b]8;;\x1b\\" if self.has_links else text


def detect_terminal_style(
    stream: TextIO, environ: Mapping[str, str], *, without_colors: bool
) -> TerminalStyle:
    """Detect the capabilities of a stream."""
    if not stream.isatty():
        return TerminalStyle()
    import shutil

    width = shutil.get_terminal_size().columns
    dumb = environ.get("TERM") == "dumb"
    if without_colors or dumb or environ.get("NO_COLOR") or not _has_ansi_support(environ):
        return TerminalStyle(width=width)
    return TerminalStyle(has_colors=True, has_links=_has_link_support(environ), width=width)


def can_redraw(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Return whether a line of the stream can be overwritten."""
    return stream.isatty() and environ.get("TERM") != "dumb" and _has_ansi_support(environ)


class StatusLine:
    """A line of a terminal that is drawn again; nothing where a line cannot be redrawn."""

    def __init__(self, stream: TextIO, environ: Mapping[str, str] = os.environ) -> None:
        self._stream = stream
        self._is_enabled = can_redraw(stream, environ)
        self._drawn = ""

    def draw(self, text: str) -> None:
        """Replace the line, if it has changed."""
        if self._is_enabled and text != self._drawn:
            self._drawn = text  # first, for Ctrl-C may come while it is written
            write_styled(self._stream, f"\r\x1b[K{text}")
            self._stream.flush()

    def clear(self) -> None:
        """Remove the line."""
        self.draw("")


def measure_width(text: str) -> int:
    """Return the columns of a text on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_measure_character(character) for character in text)


def format_path(file: Path) -> str:
    """Return the path relative to the current folder, or absolute on another drive."""
    try:
        return os.path.relpath(file)
    except ValueError:
        return str(file)


def _measure_character(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE_CLASSES else 1


def _has_ansi_support(environ: Mapping[str, str]) -> bool:
    return sys.platform != "win32" or any(environ.get(name) for name in _WINDOWS_ANSI_VARIABLES)


def _has_link_support(environ: Mapping[str, str]) -> bool:
    if any(environ.get(name) for name in _MULTIPLEXER_VARIABLES):
        return False
    vte = environ.get("VTE_VERSION", "")
    return (
        environ.get("TERM_PROGRAM") in _LINK_PROGRAMS
        or environ.get("TERM", "").startswith(_LINK_TERMS)
        or (vte.isdecimal() and int(vte) >= _MIN_LINK_VTE_VERSION)
        or "WT_SESSION" in environ
    )


# A narrower terminal wraps by itself; here each word would get its own line.
MIN_WRAP_COLUMNS = 20

# Longer lines are hard to read, however wide the terminal is.
MAX_WRAP_COLUMNS = 100

_WIDE_CHARACTER_COLUMNS = 2


class WordWrapper:
    """Wraps words as they arrive; ``take_output`` returns what can be printed."""

    def __init__(self, style: TerminalStyle) -> None:
        self.style = style
        self._output: list[str] = []
        # The last word is held until it is complete, because it may have to start the next line.
        self._word: list[tuple[str, str]] = []
        self._blank = ""
        self._column = 0
        self._hanging = ""

    def begin_line(self, prefix: str, hanging: str, code: str = "") -> None:
        """Start a line with ``prefix``; its continuation lines start with ``hanging``."""
        self._hanging = hanging
        self._blank = ""
        self._column = measure_width(prefix)
        self._output.append(self.style.colorize(prefix, code))

    def add_text(self, text: str, code: str) -> None:
        """Append to the word; CJK text may be broken between any two characters."""
        for character in text:
            if character in " \t":
                self.end_word()
            elif measure_width(character) == _WIDE_CHARACTER_COLUMNS:
                self._flush()
                self._word.append((character, code))
                self._flush()
            elif self._word and self._word[-1][1] == code:
                self._word[-1] = (self._word[-1][0] + character, code)
            else:
                self._word.append((character, code))

    def end_word(self) -> None:
        """End the current word."""
        self._flush()
        if self._column > measure_width(self._hanging):
            self._blank = " "

    def add_line(self, text: str) -> None:
        """Append a whole line as it is, color codes included."""
        self._output.append(f"{text}\n")

    def end_line(self) -> None:
        """End the current line."""
        self._flush()
        self._output.append("\n")
        self._blank, self._column = "", 0

    def take_output(self) -> str:
        """Return what can be printed now; it never changes afterwards."""
        output = "".join(self._output)
        self._output.clear()
        return output

    def _flush(self) -> None:
        if not self._word:
            return
        pieces = [(escape_line(text), code) for text, code in self._word]
        self._word.clear()
        width = sum(measure_width(text) for text, _ in pieces)
        columns = min(self.style.width, MAX_WRAP_COLUMNS)
        fits = self._column + len(self._blank) + width <= columns
        if not fits and columns >= MIN_WRAP_COLUMNS and self._column > measure_width(self._hanging):
            self._output.append(f"\n{self._hanging}")
            self._column = measure_width(self._hanging)
        elif self._blank:
            self._output.append(self._blank)
            self._column += 1
        self._blank = ""
        self._output += [self.style.colorize(text, code) for text, code in pieces]
        self._column += width
