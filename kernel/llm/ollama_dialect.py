"""Ollama's own chat API: lines of JSON, tool arguments as objects, its own names for the counts."""

from collections.abc import Callable, Iterator
from typing import Any

from kernel.domain.chat import ChatEvent, ChatMessage, ChatRequest, Role
from kernel.domain.safe_json import parse_json
from kernel.llm.answer_assembly import AnswerAssembly
from kernel.llm.dialect import AnswerReader, Garbled
from kernel.llm.messages import alternating, arguments_object, tool_json
from kernel.llm.ndjson import JsonLines
from kernel.llm.openai_dialect import raise_reported
from kernel.llm.sse import EventTooLong
from kernel.llm.traits import Traits

# Ollama cuts the beginning off whatever exceeds its window, silently, and the window is small
# unless a request says otherwise. Each step doubles, as every change makes it load the model anew.
WINDOW_STEPS = (4096, 8192, 16384, 32768)
LARGEST_WINDOW = WINDOW_STEPS[-1]
# Left for the answer where a request does not limit it.
ROOM_FOR_ANSWER = 2048


class OllamaDialect:
    """Needs to count tokens before it asks, to ask for a window that is wide enough."""

    def __init__(self, count_request: Callable[[ChatRequest], int]) -> None:
        self._count_request = count_request
        self._window = WINDOW_STEPS[0]

    def payload(self, model_name: str, request: ChatRequest, _traits: Traits) -> dict[str, Any]:
        """Build the body of the request."""
        names = {call.id: call.name for said in request.messages for call in said.tool_calls}
        options: dict[str, Any] = {"num_ctx": self._wide_enough(request)}
        if request.max_tokens is not None:
            options["num_predict"] = request.max_tokens
        if request.stop:
            options["stop"] = list(request.stop)
        payload: dict[str, Any] = {
            "model": model_name,
            "messages": [_message(message, names) for message in alternating(request.messages)],
            "stream": True,
            "options": options,
        }
        if request.tools:
            payload["tools"] = [tool_json(tool) for tool in request.tools]
        return payload

    def reader(self) -> AnswerReader:
        """Make a reader for one answer."""
        return OllamaReader()

    def _wide_enough(self, request: ChatRequest) -> int:
        needed = self._count_request(request) + (request.max_tokens or ROOM_FOR_ANSWER)
        fitting = next((step for step in WINDOW_STEPS if step >= needed), LARGEST_WINDOW)
        self._window = max(self._window, fitting)
        return self._window


class OllamaReader:
    """Reads lines until the one that says ``done``; a single document is one such line."""

    def __init__(self) -> None:
        self.assembly = AnswerAssembly()
        self._lines = JsonLines()
        self._said_done = False

    @property
    def complete(self) -> bool:
        """Whether the server has said that this was all."""
        return self._said_done

    def feed(self, piece: bytes) -> Iterator[ChatEvent]:
        """Yield what ``piece`` adds to the answer."""
        try:
            for line in self._lines.feed(piece):
                yield from self._take(line)
        except EventTooLong:
            raise Garbled("") from None

    def body_ended(self) -> Iterator[ChatEvent]:
        """Yield what the end of the body adds; ``complete`` is right after it."""
        rest = self._lines.rest()
        if self.assembly.is_empty and not self._said_done:
            yield from self._take(rest or "")
        elif rest is not None and rest.rstrip().endswith("}"):
            yield from self._take(rest)
        # Any other rest is a line within which the answer broke off.

    def _take(self, line: str) -> Iterator[ChatEvent]:
        try:
            chunk = parse_json(line)
        except ValueError:
            raise Garbled(line) from None
        if not isinstance(chunk, dict):
            raise Garbled(line)
        raise_reported(chunk)
        message = chunk.get("message")
        if not isinstance(message, dict) and not chunk.get("done"):
            raise Garbled(line)
        if isinstance(message, dict):
            yield from self.assembly.think(_text(message.get("thinking")))
            yield from self.assembly.say(_text(message.get("content")))
            self.assembly.call(message.get("tool_calls"))
        if chunk.get("done"):
            self._said_done = True
            self.assembly.finish_reason = _text(chunk.get("done_reason")) or None
            # What Ollama still has in its cache it may leave out of the count.
            self.assembly.count(chunk.get("prompt_eval_count"), chunk.get("eval_count"))


def _message(message: ChatMessage, names: dict[str, str]) -> dict[str, Any]:
    said: dict[str, Any] = {"role": message.role.value, "content": message.content}
    if message.tool_calls:
        said["tool_calls"] = [
            {"id": call.id, "function": {"name": call.name, "arguments": arguments_object(call)}}
            for call in message.tool_calls
        ]
    if message.role is Role.TOOL:
        said["tool_name"] = names.get(message.tool_call_id, "")
        said["tool_call_id"] = message.tool_call_id
    return said


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
