"""The chat API of OpenAI and its many imitators.

Build the JSON of a request, decode an event stream or a single JSON document.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from codekernel.domain.chat import ChatEvent, ChatMessage, ChatRequest, ChatToolCall, Role, ToolSpec
from codekernel.llm.http_stream import EventTooLongError, SseDecoder
from codekernel.llm.providers.base import (
    EndpointCapabilities,
    InvalidBodyError,
    ReplyAssembler,
    ReplyDecoder,
    as_string,
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
        built["tool_calls"] = [_build_tool_call(call) for call in message.tool_calls]
    if message.role is Role.TOOL:
        built["tool_call_id"] = message.tool_call_id
    return built


def _build_tool_call(call: ChatToolCall) -> dict[str, Any]:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": _repair_arguments(call.arguments)},
    }


@lru_cache(maxsize=_CALL_CACHE_SIZE)
def _repair_arguments(arguments: str) -> str:
    """Return the arguments as JSON that every server can read."""
    return json.dumps(parse_tool_arguments(arguments), ensure_ascii=False)


DONE_MARKER = "[DONE]"

_MAX_DOCUMENT_BYTES = 8 * 1024 * 1024

_MAX_QUOTE_BYTES = 1000


class OpenAiProvider:
    """OpenAI, DeepSeek, vLLM, LM Studio, the server of llama.cpp and many more."""

    def build_payload(
        self, model_name: str, request: ChatRequest, capabilities: EndpointCapabilities
    ) -> dict[str, Any]:
        """Build the body of a streamed request, without what the endpoint has refused before."""
        payload: dict[str, Any] = {
            "model": model_name,
            "messages": list(map(_build_message, merge_user_messages(request.messages))),
            "stream": True,
        }
        if capabilities.supports_stream_usage:
            payload["stream_options"] = {"include_usage": True}
        if request.tools:
            payload["tools"] = [build_tool_json(tool) for tool in request.tools]
        if request.max_tokens is not None:
            payload[capabilities.max_tokens_key] = request.max_tokens
        if request.stop and capabilities.supports_stop:
            payload["stop"] = list(request.stop)
        return payload

    def make_decoder(self) -> ReplyDecoder:
        """Return a decoder for one reply."""
        return OpenAiDecoder()


class OpenAiDecoder:
    """Decodes an event stream or a document, by its first bytes: servers declare wrong types."""

    def __init__(self) -> None:
        self.assembler = ReplyAssembler()
        self._sse = SseDecoder()
        self._document: bytearray | None = None
        self._prefix: bytes | None = b""
        self._quote = b""
        self._is_done = False
        self._has_chunks = False

    @property
    def is_complete(self) -> bool:
        """Return whether the server has ended the reply."""
        return self._is_done

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
        try:
            for data in self._sse.feed(piece):
                yield from self._decode_event(data)
        except EventTooLongError:
            raise InvalidBodyError("") from None

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
        self._is_done = self._is_done or self.assembler.finish_reason is not None

    def _decode_event(self, data: str) -> Iterator[ChatEvent]:
        if data.strip() == DONE_MARKER:
            if not self._has_chunks:
                raise InvalidBodyError(data)
            self._is_done = True
            return
        if not data.strip() or self._is_done:
            return
        chunk = parse_reply_object(data)
        self._has_chunks = True
        yield from self._decode_chunk(chunk, "delta")

    def _decode_document(self, text: str) -> Iterator[ChatEvent]:
        reply = parse_reply_object(text)
        if "choices" not in reply:
            raise InvalidBodyError(text)
        yield from self._decode_chunk(reply, "message")
        self._is_done = True

    def _decode_chunk(self, chunk: dict[str, Any], part: str) -> Iterator[ChatEvent]:
        self._decode_usage(chunk)
        choice = _get_first_choice(chunk.get("choices"))
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
        if isinstance(content, str):
            yield from self.assembler.add_text(content)
            return
        # Mistral sends a list of parts, some of them reasoning.
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                yield from self.assembler.add_text(part["text"])
            elif isinstance(part, dict) and isinstance(part.get("thinking"), list):
                for thought in part["thinking"]:
                    if isinstance(thought, dict) and isinstance(thought.get("text"), str):
                        yield from self.assembler.add_reasoning(thought["text"])

    def _decode_usage(self, chunk: dict[str, Any]) -> None:
        groq = chunk.get("x_groq")
        usage = chunk.get("usage") or (groq.get("usage") if isinstance(groq, dict) else None)
        if isinstance(usage, dict):
            self.assembler.set_usage(usage.get("prompt_tokens"), usage.get("completion_tokens"))


def _get_first_choice(choices: object) -> dict[str, Any]:
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0]
    return {}
