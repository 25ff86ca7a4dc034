"""An answer on a terminal, written while it arrives; what has been shown is never redrawn.

Prose is shown word by word, code line by line. Where there are no colours it stays Markdown.
"""

import re
from typing import Protocol

from kernel.cli import search_syntax
from kernel.cli.ask_inline import Inline
from kernel.cli.ask_prose import Prose
from kernel.cli.search_terminal import FAINT, LINE_NUMBER, Screen
from kernel.domain.languages import language_of
from kernel.domain.terminal_text import escape_line, escape_text

HEADING = "1;36"
TAB = "    "
CODE_INDENT = "  "
RULE_COLUMNS = 40
# Characters of a code block before a line that its colours are told from; a string or a comment
# that began earlier loses its colour.
COLOURED_BEHIND = 4000

# A line that may still become any of the below; a table's row is shown whole.
_UNDECIDED = re.compile(
    r"[ \t]*(?:#{0,6}|[-*+_]+|(?:-{3,}|\*{3,}|_{3,}) *|\d{1,9}[.)]?"
    r"|`{1,2}|`{3,}[^`\n]*|~{1,2}|~{3,}[^\n]*|\|[^\n]*|(?:> ?)+)"
)
_FENCE = re.compile(r"( *)(`{3,}|~{3,})([^`\n]*)(?:\n|\Z)")
_BLANK = re.compile(r"[ \t]*(?:\n|\Z)")
_RULE = re.compile(r" {0,3}(?:-{3,}|\*{3,}|_{3,}) *(?:\n|\Z)")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+")
_ITEM = re.compile(r"( *)([-*+]|\d{1,9}[.)])[ \t]+")
_QUOTE = re.compile(r" {0,3}((?:> ?)+)")
_ROW = re.compile(r" *\|[^\n]*(?:\n|\Z)")
_INDENT = re.compile(r" *")

# What people write behind a fence where it is no file's extension.
_LANGUAGES = {"c++": "cpp", "c#": "csharp", "shell": "bash", "console": "bash", "golang": "go"}


class AnswerWriter(Protocol):
    """Makes what a stream shows from the pieces of an answer."""

    def feed(self, text: str) -> str:
        """What can be shown once this piece is here."""

    def end(self) -> str:
        """The rest, and the end of its line."""


def writer_for(screen: Screen) -> AnswerWriter:
    """Styled where there are colours, else as the model wrote it."""
    return MarkdownWriter(screen) if screen.colours else PlainWriter()


class PlainWriter:
    """The answer as it is, for files, pipes and terminals without colours."""

    def __init__(self) -> None:
        self._at_line_start = True

    def feed(self, text: str) -> str:
        """The piece itself; nothing in it can command a terminal."""
        if text:
            self._at_line_start = text.endswith("\n")
        return escape_text(_unix(text))

    def end(self) -> str:
        """The end of the line."""
        return "" if self._at_line_start else self.feed("\n")


class MarkdownWriter:
    """Headings, lists, quotes, code and emphasis in colours."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._prose = Prose(screen)
        self._inline = Inline(self._prose)
        self._held = ""
        self._in_line = False
        self._fence: tuple[str, int] | None = None  # its sign and its indentation
        self._language = ""
        self._code = ""
        self._after_blank = True

    def feed(self, text: str) -> str:
        """Everything that is certain now."""
        self._held += _unix(text)
        while self._held and self._step(final=False):
            pass
        return self._prose.taken()

    def end(self) -> str:
        """The rest as it stands; what follows starts on a line of its own."""
        while self._held and self._step(final=True):
            pass
        if self._in_line:
            self._prose.end_line()
        self._in_line, self._fence = False, None
        return self._prose.taken()

    def _step(self, *, final: bool) -> bool:
        """Take something off the front of what is held; false if more must arrive."""
        if self._fence:
            length = self._code_line(self._fence, final=final)
        elif self._in_line and self._held[0] == "\n":
            self._prose.end_line()
            self._in_line = False
            length = 1
        elif self._in_line:
            length = self._inline.read(self._held, final=final)
        else:
            length = self._opened(final=final)
            self._held = self._held[length:]
            return bool(length) or self._in_line
        self._held = self._held[length:]
        return bool(length)

    def _opened(self, *, final: bool) -> int:
        """Begin a line by what it is; a paragraph has no sign, so nothing of it may be taken."""
        held = self._held
        is_whole = final or "\n" in held
        if not is_whole and _UNDECIDED.fullmatch(held):
            return 0
        if is_whole and (length := self._whole_line(held)):
            return length
        self._after_blank = False
        self._in_line = True
        self._inline.begin()
        if heading := _HEADING.match(held):
            self._prose.begin("", "")
            self._inline.begin(HEADING)
            return heading.end()
        if item := _ITEM.match(held):
            sign = f"{item[1]}{item[2]} "
            self._prose.begin(sign, " " * len(sign), LINE_NUMBER)
            return item.end()
        if quote := _QUOTE.match(held):
            sign = "> " * quote[1].count(">")
            self._prose.begin(sign, sign, FAINT)
            return quote.end()
        indent = _INDENT.match(held)
        blanks = indent.group() if indent else ""
        self._prose.begin(blanks, blanks)
        return len(blanks)

    def _whole_line(self, held: str) -> int:
        """Lines that are shown at once, or not at all; how much of what is held they were."""
        if fence := _FENCE.match(held):
            self._fence = (fence[2], len(fence[1]))
            self._language, self._code = _language(fence[3]), ""
            return fence.end()
        if blank := _BLANK.match(held):
            if not self._after_blank:
                self._prose.line("")
            self._after_blank = True
            return blank.end()
        self._after_blank = False
        if rule := _RULE.match(held):
            width = min(RULE_COLUMNS, self._screen.width)
            self._prose.line(self._screen.painted("-" * width, FAINT))
            return rule.end()
        if row := _ROW.match(held):
            self._prose.line(escape_line(row.group().rstrip("\n").replace("\t", TAB)))
            return row.end()
        return 0

    def _code_line(self, fence: tuple[str, int], *, final: bool) -> int:
        line, end, _ = self._held.partition("\n")
        if not end and not final:
            return 0
        sign, indent = fence
        bare = line.strip()
        if bare.startswith(sign) and not bare.strip(sign[0]):
            self._fence = None
        else:
            blanks = len(line) - len(line.lstrip(" "))
            self._show_code(line[min(blanks, indent) :].replace("\t", TAB))
        self._after_blank = False
        return len(line) + len(end)

    def _show_code(self, line: str) -> None:
        behind = self._code[-COLOURED_BEHIND:]
        self._code = f"{behind}{line}\n"
        shown, place = CODE_INDENT, 0
        for begin, finish, code in search_syntax.spans(self._code, self._language):
            start, stop = begin - len(behind), min(finish - len(behind), len(line))
            if stop > max(start, 0):
                start = max(start, 0)
                shown += escape_line(line[place:start])
                shown += self._screen.painted(escape_line(line[start:stop]), code)
                place = stop
        self._prose.line(f"{shown}{escape_line(line[place:])}".rstrip(" "))


def _language(info: str) -> str:
    word = (info.split() or [""])[0].strip("{}.").lower()
    known = _LANGUAGES.get(word, word)
    by_extension = language_of(f"file.{known}")
    return by_extension if by_extension != "text" else known


def _unix(text: str) -> str:
    return text.replace("\r", "")
