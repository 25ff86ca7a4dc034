"""Streaming parsers of replies, for models with and without native tool calls.

They split text into answer, thinking, tool call and tool result blocks. The blocks do not depend on
how the stream was split.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum, auto

from codekernel.loop.text_tool_calls import (
    LABEL_COLONS,
    CallBody,
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


@dataclass(slots=True)
class _CodeFence:
    """An open code fence: its length and its current line; the first line has the language."""

    ticks: int
    line: str = ""
    is_first_line: bool = True

    def feed_line_end(self) -> bool:
        """Return whether the current line closes the fence; if not, begin the next one."""
        if self.is_first_line:
            over = "`" in self.line  # it was code within a line
        else:
            line = self.line.strip()
            over = len(line) >= self.ticks and not line.strip("`")
        self.line, self.is_first_line = "", False
        return over


_ALWAYS_EXPECTED = frozenset(
    {LineMark.THOUGHT, LineMark.ACTION, LineMark.THINK_TAG, LineMark.CALL_TAG, LineMark.CALL_FENCE}
)

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
        # Number, kind, name and text of the pieces that were not returned yet.
        self._pieces: list[tuple[int, TextBlockKind, str, list[str]]] = []
        self._number = 0
        self._kind = TextBlockKind.TEXT
        self._has_started = False
        self._pending_space = ""
        self._line: str | None = ""  # the beginning of a line that may become a mark
        self._code: _CodeFence | None = None
        self._closing_tag, self._partial_tag = "", ""  # of a tag around a thought
        self._body: CallBody | None = None
        self._pending_action: str | None = None  # an action whose input may still come
        self._has_label = self._has_called = self._is_answering = False
        self._skip_prefix = ""

    def feed(self, text: str) -> list[TextBlockPiece]:
        """Return the pieces that are certain; consecutive pieces of a number are one block."""
        for character in text:
            if not self.is_over:
                self._feed_character(character)
        return self._drain()

    def end(self, *, has_calls: bool = False) -> list[TextBlockPiece]:  # noqa: ARG002 - ReplyParser
        """Return what was held back."""
        if self._body is not None:
            self._close_body(self._body)
        half, self._partial_tag = self._partial_tag, ""
        line, self._line = self._line or "", None
        self._emit_text(half)
        if line.strip():
            self._flush_pending_action()
        self._emit_text(line)
        self._flush_pending_action()
        return self._drain()

    def _drain(self) -> list[TextBlockPiece]:
        pieces, self._pieces = self._pieces, []
        return [
            TextBlockPiece(number, kind, "".join(parts), name)
            for number, kind, name, parts in pieces
        ]

    def _feed_character(self, character: str) -> None:
        if self._body is not None:
            if self._body.feed(character):
                self._close_body(self._body)
        elif self._closing_tag:
            self._feed_in_tag(character)
        elif self._code is not None:
            self._feed_in_code(character, self._code)
        elif self._line is not None:
            self._feed_at_line_start(character, self._line)
        else:
            self._emit_text(character)
            if character == "\n":
                self._line = ""

    def _feed_in_tag(self, character: str) -> None:
        self._partial_tag += character
        while not self._closing_tag.startswith(self._partial_tag):
            self._emit_text(self._partial_tag[0])
            self._partial_tag = self._partial_tag[1:]
        if self._partial_tag == self._closing_tag:
            self._closing_tag = self._partial_tag = ""
            self._switch_kind(TextBlockKind.TEXT)
            self._line = ""

    def _feed_in_code(self, character: str, code: "_CodeFence") -> None:
        self._emit_text(character)
        if character != "\n":
            code.line += character
        elif code.feed_line_end():
            self._code, self._line = None, ""

    def _feed_at_line_start(self, character: str, line: str) -> None:
        if self._skip_prefix.startswith(character) and not line:
            self._skip_prefix = self._skip_prefix[1:]
            return
        self._skip_prefix = ""
        line += character
        mark, used = classify_line(line, self._get_expected_marks())
        if mark is LineMark.UNDECIDED and character != "\n":
            self._line = line
            return
        if mark in {LineMark.UNDECIDED, LineMark.PLAIN}:
            self._handle_plain_line(line)
            return
        if mark is not LineMark.INPUT:
            self._flush_pending_action()
        self._begin_block(mark, line[:used])
        for rest in line[used:]:
            self._feed_character(rest)

    def _handle_plain_line(self, line: str) -> None:
        if line.strip():
            self._flush_pending_action()
        elif self._kind is TextBlockKind.THINKING and self._has_started:
            self._switch_kind(TextBlockKind.TEXT)
        self._emit_text(line)
        self._line = "" if line.endswith("\n") else None

    def _begin_block(self, mark: LineMark, opening: str) -> None:
        self._line = None
        if mark in {LineMark.ACTION, LineMark.INPUT, LineMark.CALL_FENCE, LineMark.CALL_TAG}:
            self._has_label |= mark is LineMark.ACTION
            self._body = CallBody(mark, opening)
        elif mark is LineMark.CODE:
            self._emit_text(opening)
            self._code = _CodeFence(opening.count("`"))
        elif mark is LineMark.THINK_TAG:
            self._switch_kind(TextBlockKind.THINKING)
            self._closing_tag = f"</{opening.strip()[1:]}"
        else:
            self._has_label = True
            self._is_answering = mark is LineMark.ANSWER
            self.is_over = self._stop_at_result and mark is LineMark.OBSERVATION
            kinds = {
                LineMark.THOUGHT: TextBlockKind.THINKING,
                LineMark.OBSERVATION: TextBlockKind.RESULT,
            }
            self._switch_kind(kinds.get(mark, TextBlockKind.TEXT))
            self._line = ""
            before = opening.rstrip(f" \t{LABEL_COLONS}")
            self._skip_prefix = _BOLD if _BOLD in before and not before.endswith(_BOLD) else ""

    def _get_expected_marks(self) -> frozenset[LineMark]:
        if self._is_answering:
            return frozenset({LineMark.CALL_FENCE})
        awaited = set(_ALWAYS_EXPECTED)
        if self._kind is TextBlockKind.RESULT:  # quoted calls are not run
            awaited -= {LineMark.CALL_FENCE, LineMark.CALL_TAG, LineMark.THINK_TAG}
        if self._pending_action is not None:
            awaited.add(LineMark.INPUT)
        if self._has_called or self._pending_action is not None:
            awaited.add(LineMark.OBSERVATION)
        if self._has_label:
            awaited.add(LineMark.ANSWER)
        return frozenset(awaited)

    def _close_body(self, body: CallBody) -> None:
        self._body, self._line = None, ""
        if body.mark is LineMark.INPUT:
            self._emit_call(
                TextToolCall(self._pending_action or "", parse_text_arguments(body.text))
            )
            self._pending_action = None
            return
        calls = parse_text_calls(body.text)
        if not calls and body.is_no_tool:
            return
        if not calls or any(call.is_loose and not self._is_known_tool(call.name) for call in calls):
            self._switch_kind(TextBlockKind.TEXT)
            self._emit_text(body.source)
            return
        if body.mark is LineMark.ACTION and len(calls) == 1 and calls[0].arguments == "{}":
            self._pending_action = calls[0].name
            return
        for call in calls:
            self._emit_call(call)

    def _flush_pending_action(self) -> None:
        """Emit an action without input, if its input has not come."""
        if self._pending_action is not None:
            name, self._pending_action = self._pending_action, None
            self._emit_call(TextToolCall(name, "{}"))

    def _emit_call(self, call: TextToolCall) -> None:
        self._number += 1
        self._pieces.append((self._number, TextBlockKind.CALL, call.name, [call.arguments]))
        self._has_called = True
        self._switch_kind(TextBlockKind.TEXT)

    def _is_known_tool(self, name: str) -> bool:
        return self._tool_names is None or name in self._tool_names

    def _switch_kind(self, kind: TextBlockKind) -> None:
        self._kind, self._has_started, self._pending_space = kind, False, ""

    def _emit_text(self, text: str) -> None:
        """Append text to the block; white space around a block is dropped."""
        for character in text:
            if character.isspace():
                self._pending_space += character if self._has_started else ""
                continue
            if not self._has_started:
                self._number += 1
                self._has_started = True
            if not self._pieces or self._pieces[-1][0] != self._number:
                self._pieces.append((self._number, self._kind, "", []))
            self._pieces[-1][3].append(self._pending_space + character)
            self._pending_space = ""
