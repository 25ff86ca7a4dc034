"""What a terminal can show."""

import os
import shutil
import sys
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

# SGR codes of the eight colours that every theme makes readable, on light and on dark ground.
PATH = "35"
LINE_NUMBER = "32"
MATCH = "1;31"
KEYWORD = "36"
STRING = "33"
COMMENT = "2"
FAINT = "2"

# Windows' old console shows the codes themselves; these say that a newer one is there.
_WINDOWS_WITH_COLOURS = ("WT_SESSION", "TERM_PROGRAM", "ANSICON", "ConEmuANSI", "TERM")
# Terminals that open OSC 8 links, by what they set. Not VS Code: it opens a plain path:line at
# the line, but a link only at the top.
_LINKING_PROGRAMS = {"iTerm.app", "WezTerm", "ghostty"}
_LINKING_TERMS = ("xterm-kitty", "xterm-ghostty", "foot", "alacritty")
_LINKING_VTE = 5000
# Between us and the terminal these may swallow or spill what they do not know.
_IN_BETWEEN = ("TMUX", "STY", "SSH_CONNECTION")

_WIDE = ("W", "F")


@dataclass(frozen=True, slots=True)
class Screen:
    """What a stream understands; ``width`` is in columns, 0 if it has none."""

    colours: bool = False
    links: bool = False
    width: int = 0

    def painted(self, text: str, code: str) -> str:
        """The text in a colour, where there are colours."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colours and code and text else text

    def linked(self, text: str, target: Path) -> str:
        """The text as a link to a file, where links are understood."""
        return f"\x1b]8;;{target.as_uri()}\x1b\\{text}\x1b]8;;\x1b\\" if self.links else text


def screen_of(stream: TextIO, environ: Mapping[str, str], *, plain: bool) -> Screen:
    """What the stream understands; nothing if it is no terminal."""
    if not stream.isatty():
        return Screen()
    width = shutil.get_terminal_size().columns
    dumb = environ.get("TERM") == "dumb"
    if plain or dumb or environ.get("NO_COLOR") or not _knows_codes(environ):
        return Screen(width=width)
    return Screen(colours=True, links=_opens_links(environ), width=width)


def can_redraw(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether a line of the stream can be written over."""
    return stream.isatty() and environ.get("TERM") != "dumb" and _knows_codes(environ)


def columns(text: str) -> int:
    """How wide a text is on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_columns_of(character) for character in text)


def shown_path(file: Path) -> str:
    """The way to a file from the current folder, or the whole path from another drive."""
    try:
        return os.path.relpath(file)
    except ValueError:
        return str(file)


def _columns_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1


def _knows_codes(environ: Mapping[str, str]) -> bool:
    return sys.platform != "win32" or any(environ.get(name) for name in _WINDOWS_WITH_COLOURS)


def _opens_links(environ: Mapping[str, str]) -> bool:
    if any(environ.get(name) for name in _IN_BETWEEN):
        return False
    vte = environ.get("VTE_VERSION", "")
    return (
        environ.get("TERM_PROGRAM") in _LINKING_PROGRAMS
        or environ.get("TERM", "").startswith(_LINKING_TERMS)
        or (vte.isdecimal() and int(vte) >= _LINKING_VTE)
        or "WT_SESSION" in environ
    )
