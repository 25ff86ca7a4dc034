"""Render a streamed Markdown answer on a terminal.

Text is written as it arrives and never redrawn; without colors it stays Markdown.
"""

import re

from codekernel.cli.output import syntax_colors, terminal
from codekernel.cli.output.terminal import TerminalStyle, WordWrapper
from codekernel.domain.index import detect_language
from codekernel.domain.untrusted_text import escape_line, escape_text

CODE_COLOR = terminal.STRING_COLOR

BOLD_STYLE, ITALIC_STYLE = "1", "3"

# Markup that is not closed on its line, or within so many characters, is plain text.
MAX_PENDING_CHARS = 300

_PLAIN = re.compile(r"[^\n\\`*\[ \t]+")
_TICKS = re.compile(r"`+")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")

_LINK = re.compile(r"\[([^\[\]\n]+)\]\(([^()\s]+)\)")

_PARTIAL_LINK = re.compile(r"\[[^\[\]\n]*(?:\](?:\([^()\s]*)?)?")


class InlineMarkdown:
    """Parses emphasis, code, links and escapes of one line of prose."""

    def __init__(self, wrapper: WordWrapper) -> None:
        self._wrapper = wrapper
        self._is_final = self._is_decided = False
        self.begin_line()

    def begin_line(self, base: str = "") -> None:
        """Begin a line, all of it in the style ``base``."""
        self._base = base
        self._is_bold = self._is_italic = False
        self._is_after_blank = True

    def consume(self, pending: str, *, is_final: bool) -> int:
        """Consume one element at the start of ``pending``, which is not a line end.

        Return its length; 0 if more text is needed to parse it.
        """
        self._is_final = is_final
        # The rest of the line is here, or more of it than is waited for.
        self._is_decided = is_final or "\n" in pending or len(pending) > MAX_PENDING_CHARS
        if pending[0] in " \t":
            self._wrapper.end_word()
            self._is_after_blank = True
            return 1
        consume = {
            "`": self._consume_code,
            "*": self._consume_stars,
            "[": self._consume_link,
            "\\": self._consume_escape,
        }.get(pending[0])
        if consume is None:
            found = _PLAIN.match(pending)
            length = self._add_literal(found.group() if found else pending[0])
        else:
            length = consume(pending)
        self._is_after_blank &= not length
        return length

    def _add(self, text: str, *codes: str) -> None:
        styles = [self._base, BOLD_STYLE * self._is_bold, ITALIC_STYLE * self._is_italic, *codes]
        self._wrapper.add_text(text, ";".join(filter(None, styles)))

    def _add_literal(self, text: str) -> int:
        self._add(text)
        return len(text)

    def _consume_code(self, pending: str) -> int:
        ticks = len(pending) - len(pending.lstrip("`"))
        line = pending.partition("\n")[0]
        for close in _TICKS.finditer(line, ticks):
            is_whole = self._is_final or close.end() < len(pending)
            if len(close.group()) == ticks and is_whole and close.end() <= MAX_PENDING_CHARS:
                inside = line[ticks : close.start()]
                self._add(inside.strip() or inside, CODE_COLOR)
                return close.end()
        return self._add_literal(pending[:ticks]) if self._is_decided else 0

    def _consume_stars(self, pending: str) -> int:
        count = len(pending) - len(pending.lstrip("*"))
        if count == len(pending) and not self._is_decided:
            return 0
        before_word = count < len(pending) and not pending[count].isspace()
        bold, italic = count in {2, 3}, count in {1, 3}
        closes = (not bold or self._is_bold) and (not italic or self._is_italic)
        is_marker = not self._is_after_blank if closes else before_word
        if not is_marker or not (bold or italic):  # emphasis has at most three
            return self._add_literal(pending[:count])
        self._is_bold ^= bold
        self._is_italic ^= italic
        return count

    def _consume_link(self, pending: str) -> int:
        link = _LINK.match(pending)
        if link and link.end() <= MAX_PENDING_CHARS:
            self._add(link[1])
            if link[2] != link[1]:
                self._wrapper.end_word()
                self._add(f"({link[2]})", terminal.FAINT_COLOR)
            return link.end()
        if not self._is_decided and _PARTIAL_LINK.fullmatch(pending):
            return 0
        return self._add_literal("[")

    def _consume_escape(self, pending: str) -> int:
        if len(pending) == 1 and not self._is_decided:
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

# Characters of a code block before a line that determine its colors; a string or a comment that
# began earlier loses its color.
MAX_HIGHLIGHT_CONTEXT_CHARS = 4000

# A line that may still become any of those below; a table row is printed whole.
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

# Languages of fences that are no file extensions.
_LANGUAGE_ALIASES = {
    "c++": "cpp",
    "c#": "csharp",
    "shell": "bash",
    "console": "bash",
    "golang": "go",
}


class PlainAnswerWriter:
    """The answer as it is, for files, pipes and terminals without colors."""

    def __init__(self) -> None:
        self._is_at_line_start = True

    def feed(self, text: str) -> str:
        """Return the piece, escaped."""
        if text:
            self._is_at_line_start = text.endswith("\n")
        return escape_text(_normalize_newlines(text))

    def end(self) -> str:
        """Return the end of the line, if it is missing."""
        return "" if self._is_at_line_start else self.feed("\n")


class MarkdownWriter:
    """Headings, lists, quotes, code and emphasis in colors."""

    def __init__(self, style: TerminalStyle) -> None:
        self._style = style
        self._wrapper = WordWrapper(style)
        self._inline = InlineMarkdown(self._wrapper)
        self._pending = ""
        self._is_mid_line = False
        self._fence: tuple[str, int] | None = None  # its marker and its indentation
        self._language = ""
        self._code = ""
        self._is_after_blank = True

    def feed(self, text: str) -> str:
        """Return what can be printed now."""
        self._pending += _normalize_newlines(text)
        while self._pending and self._consume(is_final=False):
            pass
        return self._wrapper.take_output()

    def end(self) -> str:
        """Return the rest, and the end of its line."""
        while self._pending and self._consume(is_final=True):
            pass
        if self._is_mid_line:
            self._wrapper.end_line()
        self._is_mid_line, self._fence = False, None
        return self._wrapper.take_output()

    def _consume(self, *, is_final: bool) -> bool:
        """Consume something at the start of the pending text; false if more is needed."""
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
        """Begin a line by its kind; return the length of its marker, 0 for a paragraph."""
        pending = self._pending
        is_whole = is_final or "\n" in pending
        if not is_whole and _UNDECIDED.fullmatch(pending):
            return 0
        if is_whole and (length := self._consume_whole_line(pending)):
            return length
        self._is_after_blank = False
        self._is_mid_line = True
        self._inline.begin_line()
        if heading := _HEADING.match(pending):
            self._wrapper.begin_line("", "")
            self._inline.begin_line(HEADING_STYLE)
            return heading.end()
        if item := _ITEM.match(pending):
            marker = f"{item[1]}{item[2]} "
            self._wrapper.begin_line(marker, " " * len(marker), terminal.LINE_NUMBER_COLOR)
            return item.end()
        if quote := _QUOTE.match(pending):
            marker = "> " * quote[1].count(">")
            self._wrapper.begin_line(marker, marker, terminal.FAINT_COLOR)
            return quote.end()
        blanks = " " * (len(pending) - len(pending.lstrip(" ")))
        self._wrapper.begin_line(blanks, blanks)
        return len(blanks)

    def _consume_whole_line(self, pending: str) -> int:
        """Consume a line that is printed whole, or not at all; return its length."""
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
            width = min(RULE_COLUMNS, self._style.width)
            self._wrapper.add_line(self._style.colorize("-" * width, terminal.FAINT_COLOR))
            return rule.end()
        if row := _ROW.match(pending):
            self._wrapper.add_line(escape_line(row.group().rstrip("\n").replace("\t", TAB_SPACES)))
            return row.end()
        return 0

    def _consume_code_line(self, fence: tuple[str, int], *, is_final: bool) -> int:
        line, end, _ = self._pending.partition("\n")
        if not end and not is_final:
            return 0
        marker, indent = fence
        bare = line.strip()
        if bare.startswith(marker) and not bare.strip(marker[0]):
            self._fence = None
        else:
            blanks = len(line) - len(line.lstrip(" "))
            self._write_code_line(line[min(blanks, indent) :].replace("\t", TAB_SPACES))
        self._is_after_blank = False
        return len(line) + len(end)

    def _write_code_line(self, line: str) -> None:
        before = self._code[-MAX_HIGHLIGHT_CONTEXT_CHARS:]
        self._code = f"{before}{line}\n"
        output, position = CODE_INDENT, 0
        for begin, finish, code in syntax_colors.find_syntax_spans(self._code, self._language):
            start = max(begin - len(before), 0)
            stop = min(finish - len(before), len(line))
            if stop > start:
                output += escape_line(line[position:start])
                output += self._style.colorize(escape_line(line[start:stop]), code)
                position = stop
        self._wrapper.add_line(f"{output}{escape_line(line[position:])}".rstrip(" "))


AnswerWriter = MarkdownWriter | PlainAnswerWriter


def make_answer_writer(style: TerminalStyle) -> AnswerWriter:
    """Return a writer with styles where there are colors, else one that keeps the Markdown."""
    return MarkdownWriter(style) if style.has_colors else PlainAnswerWriter()


def _detect_fence_language(info: str) -> str:
    word = (info.split() or [""])[0].strip("{}.").lower()
    known = _LANGUAGE_ALIASES.get(word, word)
    by_extension = detect_language(f"file.{known}")
    return by_extension if by_extension != "text" else known


def _normalize_newlines(text: str) -> str:
    return text.replace("\r", "")
