"""What all providers share.

The capabilities learned about an endpoint, the assembler of a reply (reasoning tags, tool call
deltas, usage), and the interfaces of a provider and its decoder.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from codekernel.domain.chat import (
    ChatEvent,
    ChatFinished,
    ChatRequest,
    ChatToolCall,
    ChatToolCalls,
    ReasoningDelta,
    TextDelta,
)
from codekernel.domain.untrusted_text import parse_json


@dataclass(slots=True)
class EndpointCapabilities:
    """What an endpoint supports; everything, until it says otherwise.

    Set from several threads, but each value changes once and only in one direction.
    """

    supports_tools: bool = True
    supports_stream_usage: bool = True
    context_tokens: int | None = None


# By url and model name. Shared, since a backend may be opened again for every conversation.
ENDPOINT_CAPABILITIES = defaultdict[tuple[str, str], EndpointCapabilities](EndpointCapabilities)


_REASONING_TAGS = {"<think>": "</think>", "<thinking>": "</thinking>"}


class ReasoningSplitter:
    """Splits text into reasoning and answer; holds back only what may be half a tag."""

    def __init__(self) -> None:
        self._buffer = ""
        self._closing_tag = ""  # while reasoning
        self._has_reasoning = self._is_answering = False

    def feed(self, text: str) -> Iterator[TextDelta | ReasoningDelta]:
        """Yield what is now known to be reasoning or answer."""
        self._buffer += text
        while self._buffer:
            if self._is_answering:
                text, self._buffer = self._buffer, ""
                yield TextDelta(text)
            elif self._closing_tag:
                reasoning, tag, after = self._buffer.partition(self._closing_tag)
                if not tag:
                    sure = len(reasoning) - _count_partial_tag(reasoning, self._closing_tag)
                    reasoning, after = reasoning[:sure], reasoning[sure:]
                self._buffer = after
                if reasoning:
                    yield ReasoningDelta(reasoning)
                if not tag:
                    return
                self._closing_tag, self._has_reasoning = "", True
            elif not self._read_start():
                return

    def finish(self) -> Iterator[TextDelta | ReasoningDelta]:
        """Yield what was held back, now that no tag can come of it."""
        held, self._buffer = self._buffer, ""
        if held and self._closing_tag:
            yield ReasoningDelta(held)
        elif held and not (self._has_reasoning and held.isspace()):
            yield TextDelta(held)

    def _read_start(self) -> bool:
        """Recognize what begins; false if that needs more text."""
        start = self._buffer.lstrip()
        for opening, closing in _REASONING_TAGS.items():
            if start.startswith(opening):
                self._closing_tag, self._buffer = closing, start.removeprefix(opening)
                return True
            if opening.startswith(start):
                return False  # nothing yet, or half a tag
        self._is_answering = True
        # Blank lines after reasoning are not part of the answer; others are.
        self._buffer = start if self._has_reasoning else self._buffer
        return True


def _count_partial_tag(text: str, tag: str) -> int:
    """Count the characters at the end of ``text`` that may be the start of ``tag``."""
    return next((length for length in range(len(tag) - 1, 0, -1) if text.endswith(tag[:length])), 0)


# More than any model asks for at once; an endless list must not fill memory.
MAX_TOOL_CALLS = 128


@dataclass(slots=True)
class _PartialToolCall:
    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


class ToolCallAssembler:
    """Assembles tool calls from deltas, in the order in which they began."""

    def __init__(self) -> None:
        self._calls: list[_PartialToolCall] = []

    def add_delta(self, delta: Mapping[str, Any]) -> None:
        """Add one entry of a delta's ``tool_calls``."""
        function = delta.get("function")
        function = function if isinstance(function, Mapping) else {}
        name = as_string(function.get("name"))
        call = self._find_call(delta, name)
        if call is None:
            return
        call.id = call.id or as_string(delta.get("id"))
        if name != call.name:  # some servers repeat it with every piece
            call.name += name
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            call.arguments += arguments
        elif arguments is not None:
            call.arguments = json.dumps(arguments, ensure_ascii=False)

    def build_calls(self) -> tuple[ChatToolCall, ...]:
        """Return every call that has a name; one without an id gets one."""
        return tuple(
            ChatToolCall(call.id or f"call_{number}", call.name, call.arguments or "{}")
            for number, call in enumerate(self._calls)
            if call.name
        )

    def join_text(self) -> str:
        """Return everything that the model wrote for its calls."""
        return "\n".join(f"{call.name} {call.arguments}" for call in self._calls)

    def _find_call(self, delta: Mapping[str, Any], name: str) -> _PartialToolCall | None:
        index, call_id = delta.get("index"), as_string(delta.get("id"))
        if not isinstance(index, int):
            if self._calls and not call_id and not name:  # only the first delta has a name
                return self._calls[-1]
            same = (call.index for call in self._calls if call_id and call.id == call_id)
            index = next(same, len(self._calls))
        for call in reversed(self._calls):
            # Some servers number every call 0 and tell them apart by their ids alone.
            if call.index == index and (not call_id or not call.id or call_id == call.id):
                return call
        if len(self._calls) >= MAX_TOOL_CALLS:
            return None
        self._calls.append(_PartialToolCall(index))
        return self._calls[-1]


def as_string(value: object) -> str:
    """Return a string of a reply; "" for anything else."""
    return value if isinstance(value, str) else ""


def list_objects(value: object) -> list[dict[str, Any]]:
    """Return the objects in a list of a reply; none of anything else."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


class ReplyAssembler:
    """Assembles text, reasoning and tool calls; keeps them for counting."""

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self.provider_usage: tuple[int, int] | None = None
        self._splitter = ReasoningSplitter()
        self._tool_calls = ToolCallAssembler()
        self._received: list[str] = []

    def add_text(self, text: str) -> Iterator[ChatEvent]:
        """Add text, which may contain reasoning between tags."""
        if text:
            self._received.append(text)
            yield from self._splitter.feed(text)

    def add_reasoning(self, text: str) -> Iterator[ChatEvent]:
        """Add reasoning that the server sends separately."""
        if text:
            self._received.append(text)
            yield ReasoningDelta(text)

    def add_tool_calls(self, pieces: object) -> None:
        """Add a list of tool calls or of deltas; ignore anything else."""
        for piece in list_objects(pieces):
            self._tool_calls.add_delta(piece)

    def set_usage(self, sent: Any, received: Any) -> None:
        """Set the provider's own token counts, if they are numbers."""
        if _is_token_count(sent) and _is_token_count(received):
            self.provider_usage = (sent, received)

    def finish(self) -> Iterator[ChatEvent]:
        """Yield what is known only at the end of the reply."""
        yield from self._splitter.finish()
        calls = self._tool_calls.build_calls()
        if calls:
            yield ChatToolCalls(calls)
        yield ChatFinished(self.finish_reason or ("tool_calls" if calls else "stop"))

    @property
    def is_empty(self) -> bool:
        """Return whether nothing has been received."""
        return not self._received and not self._tool_calls.join_text()

    def join_received(self) -> str:
        """Return everything the model wrote, with reasoning and calls."""
        return "".join((*self._received, self._tool_calls.join_text()))


def _is_token_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


_ERROR_STATUSES = range(400, 600)


# A delta has some hundred bytes, a whole answer sent as one event some hundred thousand.
MAX_EVENT_BYTES = 8 * 1024 * 1024


class InvalidBodyError(Exception):
    """A body that is no chat reply; carries the text to quote and the status."""

    def __init__(self, text: str, status: int = 200) -> None:
        super().__init__()
        self.text = text
        self.status = status


class ReportedError(InvalidBodyError):
    """An error sent in place of a reply, as JSON text, perhaps with a status of its own."""


def parse_json_or_none(text: str) -> Any:
    """Parse JSON of a reply; None if it is not valid."""
    try:
        return parse_json(text)
    except ValueError:
        return None


def parse_reply_object(text: str) -> dict[str, Any]:
    """Parse one JSON object of a reply. Raises InvalidBodyError, or ReportedError for an error."""
    reply = parse_json_or_none(text)
    if not isinstance(reply, dict):
        raise InvalidBodyError(text)
    error = reply.get("error") or (reply if reply.get("object") == "error" else None)
    if error:
        code = error.get("code") if isinstance(error, dict) else None
        status = code if isinstance(code, int) and code in _ERROR_STATUSES else 200
        raise ReportedError(json.dumps(reply, ensure_ascii=False), status)
    return reply


class ReplyDecoder(Protocol):
    """Decodes the body of one reply, until ``is_complete``; raises InvalidBodyError."""

    assembler: ReplyAssembler
    is_complete: bool

    def feed(self, piece: bytes) -> Iterator[ChatEvent]:
        """Yield what ``piece`` adds to the reply."""

    def finish(self) -> Iterator[ChatEvent]:
        """Yield what the end of the body adds; ``is_complete`` is final after it."""


# Builds the body of a request for a model, as far as the endpoint supports it.
BuildPayload = Callable[[str, ChatRequest, EndpointCapabilities], dict[str, Any]]
