"""The chat API of OpenAI and its many imitators.

Build the JSON of a request, decode server-sent events (WHATWG) or a single JSON document.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from codekernel.domain.chat import ChatEvent, ChatMessage, ChatRequest, Role, ToolSpec
from codekernel.llm.providers.base import (
    MAX_EVENT_BYTES,
    EndpointCapabilities,
    InvalidBodyError,
    ReplyAssembler,
    as_string,
    list_objects,
    parse_json_or_none,
    parse_reply_object,
)

# An agent sends all its calls again in each round.
_CALL_CACHE_SIZE = 512


def merge_user_messages(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Merge consecutive user messages, as many chat templates require."""
    merged: list[ChatMessage] = []
    for message in messages:
        if merged and message.role is merged[-1].role is Role.USER:
            content = f"{merged[-1].content}\n\n{message.content}"
            merged[-1] = replace(merged[-1], content=content)
        else:
            merged.append(message)
    return merged


def build_tool_json(tool: ToolSpec) -> dict[str, Any]:
    """Return the JSON of a tool, in the form that every provider takes."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.parameters),
        },
    }


def parse_tool_arguments(arguments: str) -> dict[str, Any]:
    """Parse the arguments of a call; empty if the model broke them.

    Servers parse them again when they are sent back, and refuse the whole request over a comma.
    """
    value = parse_json_or_none(arguments)
    return value if isinstance(value, dict) else {}


def _build_message(message: ChatMessage) -> dict[str, Any]:
    built: dict[str, Any] = {"role": message.role.value, "content": message.content}
    if message.tool_calls:
        built["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": _repair_arguments(call.arguments)},
            }
            for call in message.tool_calls
        ]
    if message.role is Role.TOOL:
        built["tool_call_id"] = message.tool_call_id
    return built


@lru_cache(maxsize=_CALL_CACHE_SIZE)
def _repair_arguments(arguments: str) -> str:
    """Return the arguments as JSON that every server can read."""
    return json.dumps(parse_tool_arguments(arguments), ensure_ascii=False)


_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class SseDecoder:
    """Decodes bytes into the data of events; keeps only the unfinished event."""

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_bytes = max_event_bytes
        self._line = bytearray()
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._at_beginning = True
        self._after_return = False

    def feed(self, piece: bytes) -> Iterator[str]:
        """Yield the data of every event that ends in ``piece``."""
        if not piece:
            return
        if self._after_return:
            # The other half of a CRLF that was split between two pieces.
            piece = piece.removeprefix(b"\n")
        for part in piece.splitlines(keepends=True):
            ending = part.endswith((b"\n", b"\r"))
            self._line += part.rstrip(b"\r\n") if ending else part
            if len(self._line) + self._data_bytes > self._max_bytes:
                raise InvalidBodyError("")  # its sender is no chat endpoint
            if ending:
                line = bytes(self._line)
                self._line.clear()
                yield from self._decode_line(line)
        # The line has ended already, whatever comes next.
        self._after_return = piece.endswith(b"\r")

    def take_rest(self) -> str | None:
        """Return the data of an event that the end of the stream truncated, as some servers do.

        The specification discards it; the caller has to check whether it is complete.
        """
        return next(self.feed(b"\n\n"), None)

    def _decode_line(self, line: bytes) -> Iterator[str]:
        if self._at_beginning:
            self._at_beginning = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if not line:
            if self._data:
                yield b"\n".join(self._data).decode("utf-8", errors="replace")
            self._data.clear()
            self._data_bytes = 0
            return
        # A line that begins with the colon is a comment: its field has no name.
        name, _, value = line.partition(b":")
        if name == b"data":
            value = value.removeprefix(b" ")
            self._data.append(value)
            self._data_bytes += len(value) + 1


DONE_MARKER = "[DONE]"

_MAX_DOCUMENT_BYTES = 8 * 1024 * 1024

_MAX_QUOTE_BYTES = 1000


def build_openai_payload(
    model_name: str, request: ChatRequest, capabilities: EndpointCapabilities
) -> dict[str, Any]:
    """Build the body of a streamed request, without what the endpoint has refused before.

    For OpenAI, DeepSeek, vLLM, LM Studio, the server of llama.cpp and many more.
    """
    payload: dict[str, Any] = {
        "model": model_name,
        "messages": list(map(_build_message, merge_user_messages(request.messages))),
        "stream": True,
    }
    if capabilities.supports_stream_usage:
        payload["stream_options"] = {"include_usage": True}
    if request.tools:
        payload["tools"] = [build_tool_json(tool) for tool in request.tools]
    return payload


class OpenAiDecoder:
    """Decodes an event stream or a document, by its first bytes: servers declare wrong types."""

    def __init__(self) -> None:
        self.assembler = ReplyAssembler()
        self._sse = SseDecoder()
        self._document: bytearray | None = None
        self._prefix: bytes | None = b""
        self._quote = b""
        self.is_complete = self._has_chunks = False

    def feed(self, piece: bytes) -> Iterator[ChatEvent]:
        """Yield what ``piece`` adds to the reply."""
        if self._prefix is not None:
            piece = self._prefix + piece
            if not piece.strip():
                self._prefix = piece
                return
            self._prefix = None
            self._quote = piece[:_MAX_QUOTE_BYTES]
            if piece.lstrip()[:1] in {b"{", b"[", b"<"}:
                self._document = bytearray()
        if self._document is not None:
            self._document += piece
            if len(self._document) > _MAX_DOCUMENT_BYTES:
                raise InvalidBodyError("")
            return
        for data in self._sse.feed(piece):
            yield from self._decode_event(data)

    def finish(self) -> Iterator[ChatEvent]:
        """Yield what the end of the body adds; ``is_complete`` is final after it."""
        if self._document is not None:
            yield from self._decode_document(self._document.decode("utf-8", errors="replace"))
            return
        rest = self._sse.take_rest()
        if rest and (rest.strip() == DONE_MARKER or parse_json_or_none(rest) is not None):
            yield from self._decode_event(rest)
        if not self._has_chunks:
            raise InvalidBodyError(self._quote.decode("utf-8", errors="replace"))
        # Not every server sends [DONE], but all send the finish reason of a complete reply.
        self.is_complete |= self.assembler.finish_reason is not None

    def _decode_event(self, data: str) -> Iterator[ChatEvent]:
        if data.strip() == DONE_MARKER:
            if not self._has_chunks:
                raise InvalidBodyError(data)
            self.is_complete = True
            return
        if not data.strip() or self.is_complete:
            return
        chunk = parse_reply_object(data)
        self._has_chunks = True
        yield from self._decode_chunk(chunk, "delta")

    def _decode_document(self, text: str) -> Iterator[ChatEvent]:
        reply = parse_reply_object(text)
        if "choices" not in reply:
            raise InvalidBodyError(text)
        yield from self._decode_chunk(reply, "message")
        self.is_complete = True

    def _decode_chunk(self, chunk: dict[str, Any], part: str) -> Iterator[ChatEvent]:
        groq = chunk.get("x_groq")
        usage = chunk.get("usage") or (groq.get("usage") if isinstance(groq, dict) else None)
        if isinstance(usage, dict):
            self.assembler.set_usage(usage.get("prompt_tokens"), usage.get("completion_tokens"))
        choice = next(iter(list_objects(chunk.get("choices"))), {})
        delta = choice.get(part)
        if isinstance(delta, dict):
            for name in ("reasoning_content", "reasoning"):
                if isinstance(delta.get(name), str):
                    yield from self.assembler.add_reasoning(delta[name])
                    break  # some servers send the same reasoning under both names
            yield from self._decode_content(delta.get("content"))
            self.assembler.add_tool_calls(delta.get("tool_calls"))
        if reason := as_string(choice.get("finish_reason")):
            self.assembler.finish_reason = reason

    def _decode_content(self, content: object) -> Iterator[ChatEvent]:
        yield from self.assembler.add_text(as_string(content))
        for part in list_objects(content):  # Mistral sends parts, some of them reasoning
            yield from self.assembler.add_text(as_string(part.get("text")))
            for thought in list_objects(part.get("thinking")):
                yield from self.assembler.add_reasoning(as_string(thought.get("text")))
