"""The chat API of OpenAI and its many imitators.

Build the JSON of a request, decode an event stream or a single JSON document.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from codekernel.domain.chat import ChatEvent, ChatMessage, ChatRequest, ChatToolCall, Role, ToolSpec
from codekernel.domain.untrusted_text import parse_json
from codekernel.llm.http_stream import EventTooLongError, SseDecoder
from codekernel.llm.providers.base import (
    EndpointCapabilities,
    InvalidBodyError,
    ReplyAssembler,
    ReplyDecoder,
    ReportedError,
)

# An agent sends all its calls again in each round.
_CALL_CACHE_SIZE = 512


def build_openai_payload(
    model_name: str, request: ChatRequest, capabilities: EndpointCapabilities
) -> dict[str, Any]:
    """Build the body of a streamed request, without what the endpoint has refused before."""
    payload: dict[str, Any] = {
        "model": model_name,
        "messages": [_build_message(message) for message in merge_user_messages(request.messages)],
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


def merge_user_messages(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """The same messages, with what a person said in a row as one: many chat templates insist."""
    told: list[ChatMessage] = []
    for message in messages:
        if told and message.role is told[-1].role is Role.USER:
            told[-1] = replace(told[-1], content=f"{told[-1].content}\n\n{message.content}")
        else:
            told.append(message)
    return told


def build_tool_json(tool: ToolSpec) -> dict[str, Any]:
    """Describe a tool; every family of endpoints took over this form."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.parameters),
        },
    }


def parse_tool_arguments(call: ChatToolCall) -> dict[str, Any]:
    """Read the arguments of a call; empty if the model broke them.

    Servers parse them again when they are sent back, and refuse the whole request over a comma.
    """
    return _parse_object(call.arguments)


def _build_message(message: ChatMessage) -> dict[str, Any]:
    said: dict[str, Any] = {"role": message.role.value, "content": message.content}
    if message.tool_calls:
        said["tool_calls"] = [_build_tool_call(call) for call in message.tool_calls]
    if message.role is Role.TOOL:
        said["tool_call_id"] = message.tool_call_id
    return said


def _build_tool_call(call: ChatToolCall) -> dict[str, Any]:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": _repair_arguments(call.arguments)},
    }


@lru_cache(maxsize=_CALL_CACHE_SIZE)
def _repair_arguments(arguments: str) -> str:
    """The same arguments as JSON that every server can read."""
    return json.dumps(_parse_object(arguments), ensure_ascii=False)


def _parse_object(arguments: str) -> dict[str, Any]:
    try:
        value = parse_json(arguments)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


DONE_MARKER = "[DONE]"

_MAX_DOCUMENT_BYTES = 8 * 1024 * 1024

_MAX_QUOTE_BYTES = 1000

_ERROR_STATUSES = range(400, 600)


class OpenAiProvider:
    """Spoken by OpenAI, DeepSeek, vLLM, LM Studio, the server of llama.cpp and many more."""

    def build_payload(
        self, model_name: str, request: ChatRequest, capabilities: EndpointCapabilities
    ) -> dict[str, Any]:
        """Build the body of the request."""
        return build_openai_payload(model_name, request, capabilities)

    def make_decoder(self) -> ReplyDecoder:
        """Make a reader for one answer."""
        return OpenAiDecoder()


class OpenAiDecoder:
    """Goes by what the body looks like: servers are careless with its declared type."""

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
        """Whether the server has said that this was all."""
        return self._is_done

    def feed(self, piece: bytes) -> Iterator[ChatEvent]:
        """Yield what ``piece`` adds to the answer."""
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
        """Yield what the end of the body adds; ``complete`` is right after it."""
        if self._document is not None:
            yield from self._decode_document(self._document.decode("utf-8", errors="replace"))
            return
        rest = self._sse.take_rest()
        if rest is not None and (
            rest.strip() == DONE_MARKER or _parse_json_or_none(rest) is not None
        ):
            yield from self._decode_event(rest)
        if not self._has_chunks:
            raise InvalidBodyError(self._quote.decode("utf-8", errors="replace"))
        # Not every server says [DONE], but none leaves out the reason of an answer that ended well.
        self._is_done = self._is_done or self.assembler.finish_reason is not None

    def _decode_event(self, data: str) -> Iterator[ChatEvent]:
        if data.strip() == DONE_MARKER:
            if not self._has_chunks:
                raise InvalidBodyError(data)
            self._is_done = True
            return
        if not data.strip() or self._is_done:
            return
        chunk = _parse_json_or_none(data)
        if not isinstance(chunk, dict):
            raise InvalidBodyError(data)
        raise_reported_error(chunk)
        self._has_chunks = True
        yield from self._decode_chunk(chunk, "delta")

    def _decode_document(self, text: str) -> Iterator[ChatEvent]:
        answer = _parse_json_or_none(text)
        if not isinstance(answer, dict):
            raise InvalidBodyError(text)
        raise_reported_error(answer)
        if "choices" not in answer:
            raise InvalidBodyError(text)
        yield from self._decode_chunk(answer, "message")
        self._is_done = True

    def _decode_chunk(self, chunk: dict[str, Any], part: str) -> Iterator[ChatEvent]:
        self._decode_usage(chunk)
        choice = _get_first_choice(chunk.get("choices"))
        said = choice.get(part)
        if isinstance(said, dict):
            for name in ("reasoning_content", "reasoning"):
                if isinstance(said.get(name), str):
                    yield from self.assembler.add_reasoning(said[name])
                    break  # some servers send the same thought under both names
            yield from self._decode_content(said.get("content"))
            self.assembler.add_tool_calls(said.get("tool_calls"))
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self.assembler.finish_reason = reason

    def _decode_content(self, content: object) -> Iterator[ChatEvent]:
        if isinstance(content, str):
            yield from self.assembler.add_text(content)
            return
        # Mistral's way: a list of parts, thoughts among them.
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


def raise_reported_error(answer: dict[str, Any]) -> None:
    """Raise Reported if ``answer`` is an error, in any of the usual forms."""
    error = answer.get("error") or (answer if answer.get("object") == "error" else None)
    if not error:
        return
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and code in _ERROR_STATUSES else None
    raise ReportedError(json.dumps(answer, ensure_ascii=False), status)


def _get_first_choice(choices: object) -> dict[str, Any]:
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0]
    return {}


def _parse_json_or_none(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return None
