"""Parse, wrap and encode the agent messages of document 004; parse streamed text into blocks."""

import codecs
import json
from collections.abc import Collection, Iterable
from typing import Any

from codekernel.agent.agent_thread import AgentMessageStream
from codekernel.domain import chat
from codekernel.domain.chat import (
    AgentMessage,
    ContentBlock,
    JsonObject,
    TextContent,
    parse_content,
    parse_message,
)
from codekernel.domain.turn_events import LoopEvent
from codekernel.domain.untrusted_text import escape_controls_in_json, parse_json
from codekernel.errors import WrongParam
from codekernel.loop.text_tool_parser import TextBlockKind, TextBlockPiece, TextToolCallParser


def encode_line(message: AgentMessage) -> bytes:
    """Encode as one line of UTF-8; C1 controls and surrogates are escaped."""
    text = json.dumps(message.to_json(), ensure_ascii=False)
    return escape_controls_in_json(text).encode() + b"\n"


# In ``meta``: this message is the last; the data of an event.
META_ENDS, META_EVENT = "ends", "event"


def unwrap_envelope(value: object) -> AgentMessage:
    """Parse a message, wrapped in an envelope or not. Raises WrongParam."""
    if not isinstance(value, dict) or value.get("role") != chat.ROLE_AGENT:
        return parse_message(value)
    content = value.get("content")
    if not isinstance(content, dict):
        return parse_message(value)
    if content.get("type") == "event":
        data = content.get("data")
        return AgentMessage(
            chat.ROLE_AGENT, (), {META_EVENT: data if isinstance(data, dict) else {}}
        )
    data = content.get("data")
    if content.get("type") != "output" or not isinstance(data, dict):
        raise WrongParam("An agent's content must be of type output, with data, or an event.")
    return _parse_output(data)


def wrap_in_envelope(message: AgentMessage) -> JsonObject:
    """Wrap a message for a client that expects envelopes."""
    role = chat.ROLE_USER if message.role == chat.ROLE_USER else chat.ROLE_ASSISTANT
    plain = AgentMessage(role, message.content).to_json()
    return _make_output({"type": role, "message": plain})


def make_end_envelope(text: str, *, is_error: bool = False) -> JsonObject:
    """Return the last envelope of a turn, at which clients finish their card."""
    return _make_output({"type": "result", ("error" if is_error else "result"): text})


def _make_output(data: JsonObject) -> JsonObject:
    return {"role": chat.ROLE_AGENT, "content": {"type": "output", "data": data}}


def _parse_output(data: dict[str, Any]) -> AgentMessage:
    kind = data.get("type")
    if kind in {chat.ROLE_ASSISTANT, chat.ROLE_USER}:
        inner = data.get("message")
        content = inner.get("content") if isinstance(inner, dict) else inner
        return AgentMessage(str(kind), parse_content(content))
    if kind == "summary":
        return _make_last_message(data.get("summary"))
    if kind == "result":
        failure = data.get("error")
        if failure:
            return _make_last_message(failure, is_error=True)
        return _make_last_message(data.get("result"))
    raise WrongParam("`data.type` must be assistant, user, result or summary.")


def _make_last_message(text: object, *, is_error: bool = False) -> AgentMessage:
    blocks = (TextContent(text),) if isinstance(text, str) and text else ()
    failed = {"is_error": True} if is_error else {}
    return AgentMessage(chat.ROLE_ASSISTANT, blocks, {META_ENDS: True, **failed})


class BlockParser:
    """Parses streamed texts or bytes; ``blocks`` is everything so far, in order."""

    def __init__(self, known: Collection[str] | None = None) -> None:
        self._splitter = TextToolCallParser(known)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._texts: list[list[str]] = []
        self._pieces: list[TextBlockPiece] = []

    @property
    def blocks(self) -> tuple[ContentBlock, ...]:
        """The blocks so far; the last one may still grow."""
        ids: list[str] = []
        return tuple(
            _build_block(piece, "".join(texts), ids)
            for piece, texts in zip(self._pieces, self._texts, strict=True)
        )

    def feed(self, piece: str | bytes) -> bool:
        """Parse the next piece; return whether a block was added or has grown."""
        text = self._decoder.decode(piece) if isinstance(piece, bytes) else piece
        return self._append(self._splitter.feed(text))

    def end(self) -> tuple[ContentBlock, ...]:
        """Return all blocks at the end of the text."""
        self._append(self._splitter.feed(self._decoder.decode(b"", final=True)))
        self._append(self._splitter.end())
        return self.blocks

    def _append(self, pieces: Iterable[TextBlockPiece]) -> bool:
        grown = False
        for piece in pieces:
            grown = True
            if self._pieces and self._pieces[-1].number == piece.number:
                self._texts[-1].append(piece.text)
            else:
                self._pieces.append(piece)
                self._texts.append([piece.text])
        return grown


def parse_blocks(text: str) -> tuple[ContentBlock, ...]:
    """Parse the blocks of a whole text."""
    parser = BlockParser()
    parser.feed(text)
    return parser.end()


def _build_block(piece: TextBlockPiece, text: str, ids: list[str]) -> ContentBlock:
    """Build a block; ``ids`` are those of earlier calls, and a result belongs to the last."""
    if piece.kind is TextBlockKind.CALL:
        ids.append(f"call_{len(ids) + 1}")
        return chat.ToolUseContent(ids[-1], piece.name, _parse_input(text))
    if piece.kind is TextBlockKind.THINKING:
        return chat.ThinkingContent(text)
    if piece.kind is TextBlockKind.RESULT:
        return chat.ToolResultContent(ids[-1] if ids else "", text)
    return TextContent(text)


def _parse_input(arguments: str) -> dict[str, Any]:
    """Parse arguments as an object; what is no JSON object is kept under ``input``."""
    try:
        value = parse_json(arguments, strict=False)
    except ValueError:
        return {"input": arguments}
    return value if isinstance(value, dict) else {"input": value}


class UapLineWriter:
    """Formats an agent's events for ``--uap``; with ``partial`` also incomplete messages."""

    def __init__(self, *, partial: bool) -> None:
        self._message_stream = AgentMessageStream(partial=partial)

    def format_greeting(self, _session: str, **_options: object) -> Iterable[bytes]:
        """Return nothing: the protocol has no greeting."""
        return ()

    def format_event(self, event: LoopEvent | None) -> Iterable[bytes]:
        """Return the lines of the messages that are due."""
        return map(encode_line, self._message_stream.feed(event))

    def format_error(self, message: str) -> bytes:
        """Return the line for an agent that cannot start."""
        return encode_line(
            AgentMessage(chat.ROLE_ASSISTANT, (TextContent(message),), {"is_error": True})
        )
