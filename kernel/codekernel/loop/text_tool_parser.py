"""Streaming parsers of replies, for models with and without native tool calls.

They split text into answer, thinking, tool call and tool result blocks. The blocks do not depend on
how the stream was split.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import Enum, auto

from codekernel.loop.text_tool_calls import (
    LABEL_COLONS,
    LineMark,
    TextToolCall,
    classify_line,
    parse_text_arguments,
    parse_text_calls,
)


class TextBlockKind(Enum):
    """What a block is."""

    TEXT = auto()
    THINKING = auto()
    CALL = auto()
    RESULT = auto()


@dataclass(frozen=True, slots=True)
class TextBlockPiece:
    """A piece of the block of this number, counted from 1; a call is one piece, with its name."""

    number: int
    kind: TextBlockKind
    text: str
    name: str = ""


_CLOSING_TAG = "</tool_call>"

_FENCE_MARK = "```"

_BODY_START = re.compile(r"\s*(```|\S)")

# What counts in an argument list; a backslash has a meaning only inside of a string.
_BRACKET_OR_QUOTE = re.compile(r'\\.|["(){}\[\]]', re.DOTALL)

_NO_TOOL_PATTERN = re.compile(
    r"\W*(?:none|n/a|null|nothing|无|没有)\b.{0,40}", re.IGNORECASE | re.DOTALL
)


@dataclass(slots=True)
class _CallBody:
    """Finds the end of a call in a text that grows; it depends on the mark that began it."""

    mark: LineMark
    opening: str
    _searched: int = 0
    _depth: int = 0
    _is_quoted: bool = False

    def find_end(self, text: str) -> int:
        """Return the length of the body; 0 if it is not complete."""
        if self.mark is LineMark.CALL_TAG:
            start, self._searched = max(0, self._searched - len(_CLOSING_TAG)), len(text)
            place = text.find(_CLOSING_TAG, start)
            return place + len(_CLOSING_TAG) if place >= 0 else 0
        while end := text.find("\n", self._searched) + 1:
            line, self._searched = text[self._searched : end], end
            if self._is_last_line(line, _BODY_START.match(text, 0, end)):
                return end
        return 0

    def strip_marks(self, text: str) -> str:
        """Return a complete body without the mark at its end."""
        if self.mark is LineMark.CALL_FENCE:
            return text.rstrip().removesuffix(_FENCE_MARK)
        return text.removesuffix(_CLOSING_TAG) if self.mark is LineMark.CALL_TAG else text

    def _is_last_line(self, line: str, start: re.Match[str] | None) -> bool:
        if self.mark is LineMark.CALL_FENCE:
            return line.rstrip().endswith(_FENCE_MARK)
        if start and start[1] == _FENCE_MARK:
            return line.strip() == _FENCE_MARK
        self._count_brackets(line)
        return start is not None and self._depth == 0

    def _count_brackets(self, line: str) -> None:
        """Count open brackets outside of strings; before the first one quotes have no meaning."""
        for found in _BRACKET_OR_QUOTE.findall(line):
            if self._is_quoted:
                self._is_quoted = found != '"'
            elif found[-1] == '"':
                self._is_quoted = self._depth > 0
            elif found[-1] in "({[":
                self._depth += 1
            elif found[-1] in ")}]":
                self._depth = max(0, self._depth - 1)


@dataclass(slots=True)
class _CodeFence:
    """An open code fence: its length and its current line; the first line has the language."""

    ticks: int
    _line: str = ""
    _is_first_line: bool = True

    def add(self, text: str) -> bool:
        """Add text of one line; return whether it closes the fence."""
        self._line += text
        if not text.endswith("\n"):
            return False
        line, is_first_line = self._line.strip(), self._is_first_line
        self._line, self._is_first_line = "", False
        if is_first_line:
            return "`" in line  # it was code within a line
        return len(line) >= self.ticks and not line.strip("`")


_LABELLED_KINDS = {
    LineMark.THOUGHT: TextBlockKind.THINKING,
    LineMark.OBSERVATION: TextBlockKind.RESULT,
}

_BOLD = "**"

_TEXT_CALL_MARKERS = ("<tool_call>", "```tool")


class NativeReplyParser:
    """Parser for models that call tools natively: all text is shown as it comes.

    Some such models write their calls into the text now and then; these count as well.
    """

    is_over = False

    def __init__(self, tool_names: Collection[str]) -> None:
        self._tool_names = tool_names
        self._text_parts: list[str] = []

    def feed(self, text: str) -> list[TextBlockPiece]:
        """Return the text as it is."""
        self._text_parts.append(text)
        return [TextBlockPiece(1, TextBlockKind.TEXT, text)]

    def end(self, *, has_calls: bool) -> list[TextBlockPiece]:
        """Return the calls of known tools in the text, unless there are native ones."""
        text = "".join(self._text_parts)
        if has_calls or not any(marker in text for marker in _TEXT_CALL_MARKERS):
            return []
        parser = TextToolCallParser(self._tool_names)
        return [
            piece
            for piece in (*parser.feed(text), *parser.end())
            if piece.kind is TextBlockKind.CALL and piece.name in self._tool_names
        ]


class TextToolCallParser:
    """Parser for models without native tool calls, which write theirs in one of many syntaxes.

    ``tool_names`` are the tools there are, if that is known. With ``stop_at_result``, what a model
    writes after it has begun a result by itself is left out.
    """

    def __init__(
        self, tool_names: Collection[str] | None = None, *, stop_at_result: bool = False
    ) -> None:
        self._tool_names = tool_names
        self._stop_at_result = stop_at_result
        self.is_over = False
        self._pieces: list[TextBlockPiece] = []
        self._number = 0
        self._kind = TextBlockKind.TEXT
        self._has_started = False
        self._pending_space = ""
        self._buffer = ""  # not parsed yet
        self._undecided = 0  # characters of it that may become a mark
        self._is_at_line_start = True
        self._code: _CodeFence | None = None
        self._closing_tag = ""  # of a tag around a thought
        self._body: _CallBody | None = None
        self._pending_action: str | None = None  # an action whose input may still come
        self._has_label = self._has_called = self._is_answering = False
        self._stars_to_skip = 0  # that end the bold type of a label

    def feed(self, text: str) -> list[TextBlockPiece]:
        """Return the pieces that are certain; consecutive pieces of a number are one block."""
        self._buffer += text
        while self._buffer and not self.is_over and self._parse_next():
            pass
        return self._drain()

    def end(self, *, has_calls: bool = False) -> list[TextBlockPiece]:  # noqa: ARG002 - ReplyParser
        """Return what was held back."""
        rest = "" if self.is_over else self._buffer
        self._buffer = ""
        if self._body is not None:
            self._close_body(self._body, rest)
        else:
            self._handle_plain_line(rest)
        self._flush_pending_action()
        return self._drain()

    def _drain(self) -> list[TextBlockPiece]:
        pieces, self._pieces = self._pieces, []
        return pieces

    def _take(self, length: int) -> str:
        """Remove the beginning of the buffer."""
        taken, self._buffer = self._buffer[:length], self._buffer[length:]
        return taken

    def _parse_next(self) -> bool:
        """Parse the beginning of the buffer; false if that needs more text."""
        if self._body is not None:
            end = self._body.find_end(self._buffer)
            if end:
                self._close_body(self._body, self._take(end))
            return bool(end)
        if self._closing_tag:
            return self._parse_thought()
        if self._is_at_line_start:
            return self._parse_line_start()
        line = self._take(self._find_line_end())
        self._emit_text(line)
        self._is_at_line_start = self._code.add(line) if self._code else line.endswith("\n")
        if self._is_at_line_start:
            self._code = None
        return True

    def _find_line_end(self) -> int:
        return self._buffer.find("\n") + 1 or len(self._buffer)

    def _parse_thought(self) -> bool:
        tag = self._closing_tag
        thought, found, rest = self._buffer.partition(tag)
        if not found:
            # A part of the tag at the end waits for the rest of it.
            part = next((n for n in range(len(tag) - 1, 0, -1) if thought.endswith(tag[:n])), 0)
            self._emit_text(self._take(len(thought) - part))
            return False
        self._emit_text(thought)
        self._buffer, self._closing_tag, self._is_at_line_start = rest, "", True
        self._switch_kind(TextBlockKind.TEXT)
        return True

    def _parse_line_start(self) -> bool:
        while self._stars_to_skip and self._buffer.startswith("*"):
            self._take(1)
            self._stars_to_skip -= 1
        if self._buffer:
            self._stars_to_skip = 0
        expected = self._get_expected_marks()
        for length in range(self._undecided + 1, self._find_line_end() + 1):
            mark, used = classify_line(self._buffer[:length], expected)
            if mark is not LineMark.UNDECIDED or self._buffer[length - 1] == "\n":
                break
        else:
            self._undecided = len(self._buffer)
            return False
        self._undecided = 0
        if mark in {LineMark.UNDECIDED, LineMark.PLAIN}:
            self._handle_plain_line(self._take(length))
            return True
        if mark is not LineMark.INPUT:
            self._flush_pending_action()
        self._begin_block(mark, self._take(used))
        return True

    def _handle_plain_line(self, line: str) -> None:
        if line.strip():
            self._flush_pending_action()
        elif self._kind is TextBlockKind.THINKING and self._has_started:
            self._switch_kind(TextBlockKind.TEXT)
        self._emit_text(line)
        self._is_at_line_start = line.endswith("\n")

    def _begin_block(self, mark: LineMark, opening: str) -> None:
        self._is_at_line_start = False
        if mark in {LineMark.ACTION, LineMark.INPUT, LineMark.CALL_FENCE, LineMark.CALL_TAG}:
            self._has_label |= mark is LineMark.ACTION
            self._body = _CallBody(mark, opening)
        elif mark is LineMark.CODE:
            self._emit_text(opening)
            self._code = _CodeFence(opening.count("`"))
        elif mark is LineMark.THINK_TAG:
            self._switch_kind(TextBlockKind.THINKING)
            self._closing_tag = f"</{opening.strip()[1:]}"
        else:
            self._has_label = self._is_at_line_start = True
            self._is_answering = mark is LineMark.ANSWER
            self.is_over = self._stop_at_result and mark is LineMark.OBSERVATION
            self._switch_kind(_LABELLED_KINDS.get(mark, TextBlockKind.TEXT))
            before = opening.rstrip(f" \t{LABEL_COLONS}")
            is_open = _BOLD in before and not before.endswith(_BOLD)
            self._stars_to_skip = len(_BOLD) if is_open else 0

    def _get_expected_marks(self) -> set[LineMark]:
        if self._is_answering:
            return {LineMark.CALL_FENCE}
        expected = {LineMark.THOUGHT, LineMark.ACTION}
        if self._kind is not TextBlockKind.RESULT:  # quoted calls are not run
            expected |= {LineMark.CALL_FENCE, LineMark.CALL_TAG, LineMark.THINK_TAG}
        if self._pending_action is not None:
            expected |= {LineMark.INPUT, LineMark.OBSERVATION}
        if self._has_called:
            expected.add(LineMark.OBSERVATION)
        if self._has_label:
            expected.add(LineMark.ANSWER)
        return expected

    def _close_body(self, body: _CallBody, text: str) -> None:
        self._body, self._is_at_line_start = None, True
        inside = body.strip_marks(text)
        if body.mark is LineMark.INPUT:
            name, self._pending_action = self._pending_action or "", None
            self._emit_call(TextToolCall(name, parse_text_arguments(inside)))
            return
        is_action = body.mark is LineMark.ACTION
        calls = parse_text_calls(inside)
        if not calls and is_action and _NO_TOOL_PATTERN.fullmatch(inside.strip()):
            return
        known = self._tool_names
        is_prose = known is not None and any(it.is_loose and it.name not in known for it in calls)
        if not calls or is_prose:
            self._switch_kind(TextBlockKind.TEXT)
            self._emit_text(body.opening + text)
        elif is_action and len(calls) == 1 and calls[0].arguments == "{}":
            self._pending_action = calls[0].name
        else:
            for call in calls:
                self._emit_call(call)

    def _flush_pending_action(self) -> None:
        """Emit an action without input, if its input has not come."""
        if self._pending_action is not None:
            name, self._pending_action = self._pending_action, None
            self._emit_call(TextToolCall(name, "{}"))

    def _emit_call(self, call: TextToolCall) -> None:
        self._number += 1
        self._pieces.append(
            TextBlockPiece(self._number, TextBlockKind.CALL, call.arguments, call.name)
        )
        self._has_called = True
        self._switch_kind(TextBlockKind.TEXT)

    def _switch_kind(self, kind: TextBlockKind) -> None:
        self._kind, self._has_started, self._pending_space = kind, False, ""

    def _emit_text(self, text: str) -> None:
        """Append text to the block; white space around a block is dropped."""
        text = self._pending_space + text if self._has_started else text.lstrip()
        shown = text.rstrip()
        self._pending_space = text[len(shown) :]
        if not shown:
            return
        if not self._has_started:
            self._number += 1
            self._has_started = True
        last = self._pieces[-1] if self._pieces else None
        if last and last.number == self._number:
            self._pieces[-1] = replace(last, text=last.text + shown)
        else:
            self._pieces.append(TextBlockPiece(self._number, self._kind, shown))
