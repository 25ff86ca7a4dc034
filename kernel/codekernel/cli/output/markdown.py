"""Render a streamed Markdown answer on a terminal.

Text is written as it arrives and never redrawn; without colors it stays Markdown.
"""

import re
from typing import Protocol

from codekernel.cli.output import syntax_colors
from codekernel.cli.output.terminal import (
    FAINT_COLOR,
    LINE_NUMBER_COLOR,
    STRING_COLOR,
    TerminalStyle,
    WordWrapper,
)
from codekernel.domain.source_files import detect_language
from codekernel.domain.untrusted_text import escape_line, escape_text

CODE_COLOR = STRING_COLOR

BOLD_STYLE, ITALIC_STYLE = "1", "3"

# What is never closed on its line is text; after this many characters nobody waits for its end.
MAX_PENDING_CHARS = 300

_PLAIN = re.compile(r"[^\n\\`*\[ \t]+")

_TICKS = re.compile(r"`+")

_STARS = re.compile(r"\*+")

_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")

_LINK = re.compile(r"\[([^\[\]\n]+)\]\(([^()\s]+)\)")

_PARTIAL_LINK = re.compile(r"\[[^\[\]\n]*(?:\](?:\([^()\s]*)?)?")


class InlineMarkdown:
    """The styles in force on one line of prose."""

    def __init__(self, prose: WordWrapper) -> None:
        self._wrapper = prose
        self._base = ""
        self._is_bold = self._is_italic = False
        self._is_after_blank = True
        self._is_final = False

    def begin_line(self, base: str = "") -> None:
        """A new line, all of it in the style ``base``."""
        self._base = base
        self._is_bold = self._is_italic = False
        self._is_after_blank = True

    def consume(self, pending: str, *, is_final: bool) -> int:
        """Take one piece off the front of ``held``, which has no line end at its front.

        How many characters it had; 0 if more must arrive before it can be understood.
        """
        self._is_final = is_final
        # What follows is all there will be of the line, or more than anybody waits for.
        decided = is_final or "\n" in pending or len(pending) > MAX_PENDING_CHARS
        first = pending[0]
        if first in " \t":
            self._wrapper.end_word()
            self._is_after_blank = True
            return 1
        length = {
            "`": self._consume_code,
            "*": self._consume_stars,
            "[": self._consume_link,
            "\\": self._consume_escape,
        }.get(first, self._consume_plain)(pending, decided)
        if length:
            self._is_after_blank = False
        return length

    def _add(self, text: str, *codes: str) -> None:
        styles = [self._base, BOLD_STYLE * self._is_bold, ITALIC_STYLE * self._is_italic, *codes]
        self._wrapper.add_text(text, ";".join(filter(None, styles)))

    def _consume_plain(self, pending: str, _is_decided: bool) -> int:  # noqa: FBT001 - of a table
        found = _PLAIN.match(pending)
        text = found.group() if found else pending[0]
        self._add(text)
        return len(text)

    def _add_literal(self, text: str) -> int:
        self._add(text)
        return len(text)

    def _consume_code(self, pending: str, is_decided: bool) -> int:  # noqa: FBT001 - of a table
        ticks = len(pending) - len(pending.lstrip("`"))
        if ticks == len(pending) and not is_decided:
            return 0
        line = pending.partition("\n")[0]
        for close in _TICKS.finditer(line, ticks):
            is_whole = self._is_final or close.end() < len(pending)
            if len(close.group()) == ticks and is_whole and close.end() <= MAX_PENDING_CHARS:
                inside = line[ticks : close.start()]
                self._add(inside.strip() or inside, CODE_COLOR)
                return close.end()
        return self._add_literal(pending[:ticks]) if is_decided else 0

    def _consume_stars(self, pending: str, is_decided: bool) -> int:  # noqa: FBT001 - of a table
        stars = _STARS.match(pending)
        count = len(stars.group()) if stars else 1
        if count == len(pending) and not is_decided:
            return 0
        before_word = count < len(pending) and not pending[count].isspace()
        bold, italic = count in {2, 3}, count in {1, 3}
        closes = (not bold or self._is_bold) and (not italic or self._is_italic)
        if count <= 3 and (  # noqa: PLR2004 - emphasis has at most three
            (closes and not self._is_after_blank) or (not closes and before_word)
        ):
            self._is_bold ^= bold
            self._is_italic ^= italic
            return count
        return self._add_literal(pending[:count])

    def _consume_link(self, pending: str, is_decided: bool) -> int:  # noqa: FBT001 - of a table
        link = _LINK.match(pending)
        if link and link.end() <= MAX_PENDING_CHARS:
            self._add(link[1])
            if link[2] != link[1]:
                self._wrapper.end_word()
                self._add(f"({link[2]})", FAINT_COLOR)
            return link.end()
        if not is_decided and _PARTIAL_LINK.fullmatch(pending):
            return 0
        return self._add_literal("[")

    def _consume_escape(self, pending: str, is_decided: bool) -> int:  # noqa: FBT001 - of a table
        if len(pending) == 1 and not is_decided:
            return 0
        escaped = _ESCAPED.match(pending)
        if escaped is None:
            return self._add_literal("\\")
        self._add(escaped[1])
        return 2


HEADING_STYLE = "1;36"

TAB_SPACES = "    "

CODE_INDENT = "  "

RULE_COLUMNS = 40

# Characters of a code block before a line that its colours are told from; a string or a comment
# that began earlier loses its colour.
MAX_HIGHLIGHT_CONTEXT_CHARS = 4000

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
_LANGUAGE_ALIASES = {
    "c++": "cpp",
    "c#": "csharp",
    "shell": "bash",
    "console": "bash",
    "golang": "go",
}


class AnswerWriter(Protocol):
    """Makes what a stream shows from the pieces of an answer."""

    def feed(self, text: str) -> str:
        """What can be shown once this piece is here."""

    def end(self) -> str:
        """The rest, and the end of its line."""


def make_answer_writer(screen: TerminalStyle) -> AnswerWriter:
    """Styled where there are colours, else as the model wrote it."""
    return MarkdownWriter(screen) if screen.has_colors else PlainAnswerWriter()


class PlainAnswerWriter:
    """The answer as it is, for files, pipes and terminals without colours."""

    def __init__(self) -> None:
        self._is_at_line_start = True

    def feed(self, text: str) -> str:
        """The piece itself; nothing in it can command a terminal."""
        if text:
            self._is_at_line_start = text.endswith("\n")
        return escape_text(_normalize_newlines(text))

    def end(self) -> str:
        """The end of the line."""
        return "" if self._is_at_line_start else self.feed("\n")


class MarkdownWriter:
    """Headings, lists, quotes, code and emphasis in colours."""

    def __init__(self, screen: TerminalStyle) -> None:
        self._screen = screen
        self._wrapper = WordWrapper(screen)
        self._inline = InlineMarkdown(self._wrapper)
        self._pending = ""
        self._is_mid_line = False
        self._fence: tuple[str, int] | None = None  # its sign and its indentation
        self._language = ""
        self._code = ""
        self._is_after_blank = True

    def feed(self, text: str) -> str:
        """Everything that is certain now."""
        self._pending += _normalize_newlines(text)
        while self._pending and self._consume(is_final=False):
            pass
        return self._wrapper.take_output()

    def end(self) -> str:
        """The rest as it stands; what follows starts on a line of its own."""
        while self._pending and self._consume(is_final=True):
            pass
        if self._is_mid_line:
            self._wrapper.end_line()
        self._is_mid_line, self._fence = False, None
        return self._wrapper.take_output()

    def _consume(self, *, is_final: bool) -> bool:
        """Take something off the front of what is held; false if more must arrive."""
        if self._fence:
            length = self._consume_code_line(self._fence, is_final=is_final)
        elif self._is_mid_line and self._pending[0] == "\n":
            self._wrapper.end_line()
            self._is_mid_line = False
            length = 1
        elif self._is_mid_line:
            length = self._inline.consume(self._pending, is_final=is_final)
        else:
            length = self._open_line(is_final=is_final)
            self._pending = self._pending[length:]
            return bool(length) or self._is_mid_line
        self._pending = self._pending[length:]
        return bool(length)

    def _open_line(self, *, is_final: bool) -> int:
        """Begin a line by what it is; a paragraph has no sign, so nothing of it may be taken."""
        held = self._pending
        is_whole = is_final or "\n" in held
        if not is_whole and _UNDECIDED.fullmatch(held):
            return 0
        if is_whole and (length := self._consume_whole_line(held)):
            return length
        self._is_after_blank = False
        self._is_mid_line = True
        self._inline.begin_line()
        if heading := _HEADING.match(held):
            self._wrapper.begin_line("", "")
            self._inline.begin_line(HEADING_STYLE)
            return heading.end()
        if item := _ITEM.match(held):
            sign = f"{item[1]}{item[2]} "
            self._wrapper.begin_line(sign, " " * len(sign), LINE_NUMBER_COLOR)
            return item.end()
        if quote := _QUOTE.match(held):
            sign = "> " * quote[1].count(">")
            self._wrapper.begin_line(sign, sign, FAINT_COLOR)
            return quote.end()
        indent = _INDENT.match(held)
        blanks = indent.group() if indent else ""
        self._wrapper.begin_line(blanks, blanks)
        return len(blanks)

    def _consume_whole_line(self, pending: str) -> int:
        """Lines that are shown at once, or not at all; how much of what is held they were."""
        if fence := _FENCE.match(pending):
            self._fence = (fence[2], len(fence[1]))
            self._language, self._code = _detect_fence_language(fence[3]), ""
            return fence.end()
        if blank := _BLANK.match(pending):
            if not self._is_after_blank:
                self._wrapper.add_line("")
            self._is_after_blank = True
            return blank.end()
        self._is_after_blank = False
        if rule := _RULE.match(pending):
            width = min(RULE_COLUMNS, self._screen.width)
            self._wrapper.add_line(self._screen.colorize("-" * width, FAINT_COLOR))
            return rule.end()
        if row := _ROW.match(pending):
            self._wrapper.add_line(escape_line(row.group().rstrip("\n").replace("\t", TAB_SPACES)))
            return row.end()
        return 0

    def _consume_code_line(self, fence: tuple[str, int], *, is_final: bool) -> int:
        line, end, _ = self._pending.partition("\n")
        if not end and not is_final:
            return 0
        sign, indent = fence
        bare = line.strip()
        if bare.startswith(sign) and not bare.strip(sign[0]):
            self._fence = None
        else:
            blanks = len(line) - len(line.lstrip(" "))
            self._write_code_line(line[min(blanks, indent) :].replace("\t", TAB_SPACES))
        self._is_after_blank = False
        return len(line) + len(end)

    def _write_code_line(self, line: str) -> None:
        behind = self._code[-MAX_HIGHLIGHT_CONTEXT_CHARS:]
        self._code = f"{behind}{line}\n"
        shown, place = CODE_INDENT, 0
        for begin, finish, code in syntax_colors.find_syntax_spans(self._code, self._language):
            start, stop = begin - len(behind), min(finish - len(behind), len(line))
            if stop > max(start, 0):
                start = max(start, 0)
                shown += escape_line(line[place:start])
                shown += self._screen.colorize(escape_line(line[start:stop]), code)
                place = stop
        self._wrapper.add_line(f"{shown}{escape_line(line[place:])}".rstrip(" "))


def _detect_fence_language(info: str) -> str:
    word = (info.split() or [""])[0].strip("{}.").lower()
    known = _LANGUAGE_ALIASES.get(word, word)
    by_extension = detect_language(f"file.{known}")
    return by_extension if by_extension != "text" else known


def _normalize_newlines(text: str) -> str:
    return text.replace("\r", "")
