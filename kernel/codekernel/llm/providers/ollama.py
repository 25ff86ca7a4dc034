"""The native chat API of Ollama.

Newline-delimited JSON, tool arguments as objects, its own names of the token counts, and a
context size that each request has to ask for.
"""

from collections.abc import Callable, Iterator
from typing import Any

from codekernel.domain.chat import ChatEvent, ChatMessage, ChatRequest, Role
from codekernel.llm.http_stream import EventTooLongError, NdjsonDecoder
from codekernel.llm.providers.base import (
    EndpointCapabilities,
    InvalidBodyError,
    ReplyAssembler,
    ReplyDecoder,
    as_string,
    parse_reply_object,
)
from codekernel.llm.providers.openai import (
    build_tool_json,
    merge_user_messages,
    parse_tool_arguments,
)

# Ollama cuts the beginning off whatever exceeds its window, silently, and the window is small
# unless a request says otherwise. Each step doubles, as every change makes it load the model again.
CONTEXT_SIZES = (4096, 8192, 16384, 32768)

MAX_CONTEXT_SIZE = CONTEXT_SIZES[-1]

# Left for the answer where a request does not limit it.
RESERVED_OUTPUT_TOKENS = 2048


class OllamaProvider:
    """Ollama's own API; counts tokens first, to request a context that is large enough."""

    def __init__(self, count_request: Callable[[ChatRequest], int]) -> None:
        self._count_request = count_request
        self._context_size = CONTEXT_SIZES[0]

    def build_payload(
        self, model_name: str, request: ChatRequest, _capabilities: EndpointCapabilities
    ) -> dict[str, Any]:
        """Build the body of the request."""
        names = {call.id: call.name for sent in request.messages for call in sent.tool_calls}
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
        """Return a decoder for one reply."""
        return OllamaDecoder()

    def _choose_context_size(self, request: ChatRequest) -> int:
        needed = self._count_request(request) + (request.max_tokens or RESERVED_OUTPUT_TOKENS)
        fitting = next((step for step in CONTEXT_SIZES if step >= needed), MAX_CONTEXT_SIZE)
        self._context_size = max(self._context_size, fitting)
        return self._context_size


class OllamaDecoder:
    """Decodes lines until the one with ``done``; a single document is one such line."""

    def __init__(self) -> None:
        self.assembler = ReplyAssembler()
        self._lines = NdjsonDecoder()
        self._is_done = False

    @property
    def is_complete(self) -> bool:
        """Return whether the server has ended the reply."""
        return self._is_done

    def feed(self, piece: bytes) -> Iterator[ChatEvent]:
        """Yield what ``piece`` adds to the reply."""
        try:
            for line in self._lines.feed(piece):
                yield from self._decode_line(line)
        except EventTooLongError:
            raise InvalidBodyError("") from None

    def finish(self) -> Iterator[ChatEvent]:
        """Yield what the end of the body adds; ``is_complete`` is final after it."""
        rest = self._lines.take_rest()
        if self.assembler.is_empty and not self._is_done:
            yield from self._decode_line(rest or "")
        elif rest is not None and rest.rstrip().endswith("}"):
            yield from self._decode_line(rest)
        # Any other rest is an incomplete line.

    def _decode_line(self, line: str) -> Iterator[ChatEvent]:
        chunk = parse_reply_object(line)
        message = chunk.get("message")
        if not isinstance(message, dict) and not chunk.get("done"):
            raise InvalidBodyError(line)
        if isinstance(message, dict):
            yield from self.assembler.add_reasoning(as_string(message.get("thinking")))
            yield from self.assembler.add_text(as_string(message.get("content")))
            self.assembler.add_tool_calls(message.get("tool_calls"))
        if chunk.get("done"):
            self._is_done = True
            self.assembler.finish_reason = as_string(chunk.get("done_reason")) or None
            # Ollama may leave what it has cached out of the count.
            self.assembler.set_usage(chunk.get("prompt_eval_count"), chunk.get("eval_count"))


def _build_message(message: ChatMessage, names: dict[str, str]) -> dict[str, Any]:
    built: dict[str, Any] = {"role": message.role.value, "content": message.content}
    if message.tool_calls:
        built["tool_calls"] = [
            {
                "id": call.id,
                "function": {"name": call.name, "arguments": parse_tool_arguments(call.arguments)},
            }
            for call in message.tool_calls
        ]
    if message.role is Role.TOOL:
        built["tool_name"] = names.get(message.tool_call_id, "")
        built["tool_call_id"] = message.tool_call_id
    return built
