"""The native chat API of Ollama.

Newline-delimited JSON, tool arguments as objects, its own names of the token counts, and a
context size that each request has to ask for.
"""

from collections.abc import Callable, Iterator
from typing import Any

from codekernel.domain.chat import ChatEvent, ChatMessage, ChatRequest, Role
from codekernel.llm.providers.base import (
    MAX_EVENT_BYTES,
    EndpointCapabilities,
    InvalidBodyError,
    ReplyAssembler,
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

# Left for the answer.
RESERVED_OUTPUT_TOKENS = 2048


class OllamaPayloads:
    """Builds requests; counts tokens first, to request a context that is large enough."""

    def __init__(self, count_request: Callable[[ChatRequest], int]) -> None:
        self._count_request = count_request
        self._context_size = CONTEXT_SIZES[0]

    def build_payload(
        self, model_name: str, request: ChatRequest, _capabilities: EndpointCapabilities
    ) -> dict[str, Any]:
        """Build the body of the request."""
        names = {call.id: call.name for sent in request.messages for call in sent.tool_calls}
        payload: dict[str, Any] = {
            "model": model_name,
            "messages": [
                _build_message(message, names) for message in merge_user_messages(request.messages)
            ],
            "stream": True,
            "options": {"num_ctx": self._choose_context_size(request)},
        }
        if request.tools:
            payload["tools"] = [build_tool_json(tool) for tool in request.tools]
        return payload

    def _choose_context_size(self, request: ChatRequest) -> int:
        needed = self._count_request(request) + RESERVED_OUTPUT_TOKENS
        fitting = next((step for step in CONTEXT_SIZES if step >= needed), MAX_CONTEXT_SIZE)
        self._context_size = max(self._context_size, fitting)
        return self._context_size


class NdjsonDecoder:
    """Decodes bytes into lines; keeps only the unfinished line."""

    def __init__(self, max_line_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_bytes = max_line_bytes
        self._line = bytearray()

    def feed(self, piece: bytes) -> Iterator[str]:
        """Yield every line that ends in ``piece``, without its end; blank ones are left out."""
        *ended, begun = piece.split(b"\n")
        for part in ended:
            self._line += part
            line = bytes(self._line)
            self._line.clear()
            if line.strip():
                yield line.decode("utf-8", errors="replace")
        self._line += begun
        if len(self._line) > self._max_bytes:
            raise InvalidBodyError("")  # its sender is no chat endpoint

    def take_rest(self) -> str | None:
        """Return the last line, if nothing ended it."""
        return next(self.feed(b"\n"), None)


class OllamaDecoder:
    """Decodes lines until the one with ``done``; a single document is one such line."""

    def __init__(self) -> None:
        self.assembler = ReplyAssembler()
        self._lines = NdjsonDecoder()
        self.is_complete = False

    def feed(self, piece: bytes) -> Iterator[ChatEvent]:
        """Yield what ``piece`` adds to the reply."""
        for line in self._lines.feed(piece):
            yield from self._decode_line(line)

    def finish(self) -> Iterator[ChatEvent]:
        """Yield what the end of the body adds; ``is_complete`` is final after it."""
        rest = self._lines.take_rest()
        if self.assembler.is_empty and not self.is_complete:
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
            self.is_complete = True
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
