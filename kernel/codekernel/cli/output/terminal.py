"""Stdout and stderr of the commands.

Escape control characters, print notices, detect colors, links and width, and wrap words.
Whatever a command forgets to escape is escaped here.
"""

import errno
import os
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from codekernel.domain.untrusted_text import (
    escape_line,
    escape_text,
    escape_text_keep_ansi,
    escape_text_keep_bytes,
)
from codekernel.errors import StorageError


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
        self._stream.write(escape_text_keep_bytes(text) if keeps_bytes else escape_text(text))
        return len(text)

    def write_styled(self, text: str) -> None:
        """Write text whose quotations are escaped already; on a terminal our own codes pass."""
        if self._is_terminal:
            self._stream.write(escape_text_keep_ansi(text))
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


def install_safe_streams() -> None:
    """Put the fence before stdout and stderr; what they cannot encode is spelt out."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None or isinstance(stream, SafeStream):
            continue
        reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
        if reconfigure and stream.errors == "strict":
            reconfigure(errors="backslashreplace")
        setattr(sys, name, SafeStream(stream))


# Writing to a pipe that nobody reads any more; Windows calls it an invalid argument.
CLOSED_PIPE_ERRNOS = {errno.EPIPE, errno.EINVAL}


def print_notice(sentence: str) -> None:
    """A remark for the person, beside the results."""
    sys.stderr.write(f"codekernel: {escape_line(sentence)}\n")
    sys.stderr.flush()


def print_bearer_address(url: str, token: str, token_variable: str) -> None:
    """Print the address and the token of a server, and how to choose the token."""
    print(f"{url}\nAuthorization: Bearer {token}", flush=True)
    print_notice(
        f"the token is new each time unless ${token_variable} has one; Ctrl-C stops codekernel"
    )


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
        if error.errno not in CLOSED_PIPE_ERRNOS:
            raise StorageError(f"stdout cannot be written: {error.strerror}") from error


def use_utf8(stream: TextIO) -> None:
    """Let a pipe carry every text and every file's name; a terminal keeps its own encoding."""
    reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
    if reconfigure is None:
        return
    if stream.isatty():
        reconfigure(errors="backslashreplace")
    else:
        reconfigure(encoding="utf-8", errors="surrogateescape")


# SGR codes of the eight colours that every theme makes readable, on light and on dark ground.
PATH_COLOR = "35"

LINE_NUMBER_COLOR = "32"

MATCH_COLOR = "1;31"

KEYWORD_COLOR = "36"

STRING_COLOR = "33"

COMMENT_COLOR = "2"

FAINT_COLOR = "2"

# Windows' old console shows the codes themselves; these say that a newer one is there.
_WINDOWS_ANSI_VARIABLES = ("WT_SESSION", "TERM_PROGRAM", "ANSICON", "ConEmuANSI", "TERM")

# Terminals that open OSC 8 links, by what they set. Not VS Code: it opens a plain path:line at
# the line, but a link only at the top.
_LINK_PROGRAMS = {"iTerm.app", "WezTerm", "ghostty"}

_LINK_TERMS = ("xterm-kitty", "xterm-ghostty", "foot", "alacritty")

_MIN_LINK_VTE_VERSION = 5000

# Between us and the terminal these may swallow or spill what they do not know.
_MULTIPLEXER_VARIABLES = ("TMUX", "STY", "SSH_CONNECTION")

_WIDE_CLASSES = ("W", "F")


@dataclass(frozen=True, slots=True)
class TerminalStyle:
    """What a stream understands; ``width`` is in columns, 0 if it has none."""

    has_colors: bool = False
    has_links: bool = False
    width: int = 0

    def colorize(self, text: str, code: str) -> str:
        """The text in a colour, where there are colours."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.has_colors and code and text else text

    def link(self, text: str, target: Path) -> str:
        """The text as a link to a file, where links are understood."""
        return f"\x1b]8;;{target.as_uri()}\x1b\\{text}\x1b]8;;\x1b\\" if self.has_links else text


def detect_terminal_style(
    stream: TextIO, environ: Mapping[str, str], *, without_colors: bool
) -> TerminalStyle:
    """What the stream understands; nothing if it is no terminal."""
    if not stream.isatty():
        return TerminalStyle()
    width = shutil.get_terminal_size().columns
    dumb = environ.get("TERM") == "dumb"
    if without_colors or dumb or environ.get("NO_COLOR") or not _has_ansi_support(environ):
        return TerminalStyle(width=width)
    return TerminalStyle(has_colors=True, has_links=_has_link_support(environ), width=width)


def can_redraw(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether a line of the stream can be written over."""
    return stream.isatty() and environ.get("TERM") != "dumb" and _has_ansi_support(environ)


def measure_width(text: str) -> int:
    """How wide a text is on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_measure_character(character) for character in text)


def format_path(file: Path) -> str:
    """The way to a file from the current folder, or the whole path from another drive."""
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


# A terminal narrower than this is wrapped by itself; words would stand one below the other.
MIN_WRAP_COLUMNS = 20

# Lines longer than this are hard to read, however wide the terminal is.
MAX_WRAP_COLUMNS = 100

_WIDE_CHARACTER_COLUMNS = 2


@dataclass(slots=True)
class WordWrapper:
    """The line being written; what can be shown is taken with ``taken``."""

    screen: TerminalStyle
    _output: list[str] = field(default_factory=list)
    # The last word stays back until it is whole, for it may have to begin the next line.
    _word: list[tuple[str, str]] = field(default_factory=list)
    _blank: str = ""
    _column: int = 0
    _hanging: str = ""

    @property
    def is_mid_line(self) -> bool:
        """Whether something stands on the line, shown or not."""
        return bool(self._column or self._word)

    def begin_line(self, prefix: str, hanging: str, code: str = "") -> None:
        """Start a line with a sign; lines that it is wrapped into start with ``hanging``."""
        self._hanging = hanging
        self._blank = ""
        self._column = measure_width(prefix)
        self._output.append(self.screen.colorize(prefix, code))

    def add_text(self, text: str, code: str) -> None:
        """Go on with the word; Chinese and the like may be broken between any two characters."""
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
        """The word is whole."""
        self._flush()
        if self._column > measure_width(self._hanging):
            self._blank = " "

    def add_line(self, text: str) -> None:
        """A line as it is, codes included."""
        self._output.append(f"{text}\n")

    def end_line(self) -> None:
        """The line is over."""
        self._flush()
        self._output.append("\n")
        self._blank, self._column = "", 0

    def take_output(self) -> str:
        """What can be shown now; it is never changed afterwards."""
        out = "".join(self._output)
        self._output.clear()
        return out

    def _flush(self) -> None:
        if not self._word:
            return
        pieces = [(escape_line(text), code) for text, code in self._word]
        self._word.clear()
        width = sum(measure_width(text) for text, _ in pieces)
        room = min(self.screen.width, MAX_WRAP_COLUMNS)
        fits = self._column + len(self._blank) + width <= room
        if not fits and room >= MIN_WRAP_COLUMNS and self._column > measure_width(self._hanging):
            self._output.append(f"\n{self._hanging}")
            self._column = measure_width(self._hanging)
        elif self._blank:
            self._output.append(self._blank)
            self._column += 1
        self._blank = ""
        self._output += [self.screen.colorize(text, code) for text, code in pieces]
        self._column += width
