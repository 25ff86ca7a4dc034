"""The native chat API of Ollama.

Newline-delimited JSON, tool arguments as objects, its own names of the token counts, and a
context size that each request has to ask for.
"""

from collections.abc import Callable, Iterator
from typing import Any

from codekernel.domain.chat import ChatEvent, ChatMessage, ChatRequest, Role
from codekernel.domain.untrusted_text import parse_json
from codekernel.llm.http_stream import EventTooLongError, NdjsonDecoder
from codekernel.llm.providers.base import (
    EndpointCapabilities,
    InvalidBodyError,
    ReplyAssembler,
    ReplyDecoder,
)
from codekernel.llm.providers.openai import (
    build_tool_json,
    merge_user_messages,
    parse_tool_arguments,
    raise_reported_error,
)

# Ollama cuts the beginning off whatever exceeds its window, silently, and the window is small
# unless a request says otherwise. Each step doubles, as every change makes it load the model anew.
CONTEXT_SIZES = (4096, 8192, 16384, 32768)

MAX_CONTEXT_SIZE = CONTEXT_SIZES[-1]

# Left for the answer where a request does not limit it.
RESERVED_OUTPUT_TOKENS = 2048


class OllamaProvider:
    """Needs to count tokens before it asks, to ask for a window that is wide enough."""

    def __init__(self, count_request: Callable[[ChatRequest], int]) -> None:
        self._count_request = count_request
        self._context_size = CONTEXT_SIZES[0]

    def build_payload(
        self, model_name: str, request: ChatRequest, _capabilities: EndpointCapabilities
    ) -> dict[str, Any]:
        """Build the body of the request."""
        names = {call.id: call.name for said in request.messages for call in said.tool_calls}
        options: dict[str, Any] = {"num_ctx": self._choose_context_size(request)}
        if request.max_tokens is not None:
            options["num_predict"] = request.max_tokens
        if request.stop:
            options["stop"] = list(request.stop)
        payload: dict[str, Any] = {
            "model": model_name,
            "messages": [
                _build_message(message, names) for message in merge_user_messages(request.messages)
            ],
            "stream": True,
            "options": options,
        }
        if request.tools:
            payload["tools"] = [build_tool_json(tool) for tool in request.tools]
        return payload

    def make_decoder(self) -> ReplyDecoder:
        """Make a reader for one answer."""
        return OllamaDecoder()

    def _choose_context_size(self, request: ChatRequest) -> int:
        needed = self._count_request(request) + (request.max_tokens or RESERVED_OUTPUT_TOKENS)
        fitting = next((step for step in CONTEXT_SIZES if step >= needed), MAX_CONTEXT_SIZE)
        self._context_size = max(self._context_size, fitting)
        return self._context_size


class OllamaDecoder:
    """Reads lines until the one that says ``done``; a single document is one such line."""

    def __init__(self) -> None:
        self.assembler = ReplyAssembler()
        self._lines = NdjsonDecoder()
        self._is_done = False

    @property
    def is_complete(self) -> bool:
        """Whether the server has said that this was all."""
        return self._is_done

    def feed(self, piece: bytes) -> Iterator[ChatEvent]:
        """Yield what ``piece`` adds to the answer."""
        try:
            for line in self._lines.feed(piece):
                yield from self._decode_line(line)
        except EventTooLongError:
            raise InvalidBodyError("") from None

    def finish(self) -> Iterator[ChatEvent]:
        """Yield what the end of the body adds; ``complete`` is right after it."""
        rest = self._lines.take_rest()
        if self.assembler.is_empty and not self._is_done:
            yield from self._decode_line(rest or "")
        elif rest is not None and rest.rstrip().endswith("}"):
            yield from self._decode_line(rest)
        # Any other rest is a line within which the answer broke off.

    def _decode_line(self, line: str) -> Iterator[ChatEvent]:
        try:
            chunk = parse_json(line)
        except ValueError:
            raise InvalidBodyError(line) from None
        if not isinstance(chunk, dict):
            raise InvalidBodyError(line)
        raise_reported_error(chunk)
        message = chunk.get("message")
        if not isinstance(message, dict) and not chunk.get("done"):
            raise InvalidBodyError(line)
        if isinstance(message, dict):
            yield from self.assembler.add_reasoning(_as_string(message.get("thinking")))
            yield from self.assembler.add_text(_as_string(message.get("content")))
            self.assembler.add_tool_calls(message.get("tool_calls"))
        if chunk.get("done"):
            self._is_done = True
            self.assembler.finish_reason = _as_string(chunk.get("done_reason")) or None
            # What Ollama still has in its cache it may leave out of the count.
            self.assembler.set_usage(chunk.get("prompt_eval_count"), chunk.get("eval_count"))


def _build_message(message: ChatMessage, names: dict[str, str]) -> dict[str, Any]:
    said: dict[str, Any] = {"role": message.role.value, "content": message.content}
    if message.tool_calls:
        said["tool_calls"] = [
            {
                "id": call.id,
                "function": {"name": call.name, "arguments": parse_tool_arguments(call)},
            }
            for call in message.tool_calls
        ]
    if message.role is Role.TOOL:
        said["tool_name"] = names.get(message.tool_call_id, "")
        said["tool_call_id"] = message.tool_call_id
    return said


def _as_string(value: object) -> str:
    return value if isinstance(value, str) else ""
