"""What all providers share.

The capabilities learned about an endpoint, the assembler of a reply (reasoning tags, tool call
deltas, usage), and the interfaces of a provider and its decoder.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
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
    supports_stop: bool = True
    max_tokens_key: str = "max_tokens"
    context_tokens: int | None = None


# Shared, since a backend may be opened again for every conversation.
_CAPABILITIES: dict[tuple[str, str], EndpointCapabilities] = {}


def get_endpoint_capabilities(url: str, model_name: str) -> EndpointCapabilities:
    """Return what is known of an endpoint; all callers share the value."""
    return _CAPABILITIES.setdefault((url, model_name), EndpointCapabilities())


def forget_endpoints() -> None:
    """Forget what is known of all endpoints."""
    _CAPABILITIES.clear()


_REASONING_TAGS = {"<think>": "</think>", "<thinking>": "</thinking>"}


class _SplitterState(Enum):
    BEFORE = auto()
    THINKING = auto()
    ANSWER = auto()


class ReasoningSplitter:
    """Splits text into reasoning and answer; holds back only what may be half a tag."""

    def __init__(self) -> None:
        self._state = _SplitterState.BEFORE
        self._buffer = ""
        self._closing_tag = ""
        self._has_reasoning = False

    def feed(self, text: str) -> Iterator[TextDelta | ReasoningDelta]:
        """Yield what is now known to be reasoning or answer."""
        if self._state is _SplitterState.ANSWER:
            if text:
                yield TextDelta(text)
            return
        self._buffer += text
        if self._state is _SplitterState.THINKING:
            yield from self._read_reasoning()
        if self._state is _SplitterState.BEFORE:
            yield from self._read_start()

    def finish(self) -> Iterator[TextDelta | ReasoningDelta]:
        """Yield what was held back, now that no tag can come of it."""
        held, self._buffer = self._buffer, ""
        if self._state is _SplitterState.THINKING:
            yield from _emit_reasoning(held)
        elif held and not (self._has_reasoning and held.isspace()):
            yield TextDelta(held)

    def _read_start(self) -> Iterator[TextDelta | ReasoningDelta]:
        start = self._buffer.lstrip()
        for opening, closing in _REASONING_TAGS.items():
            if start.startswith(opening):
                self._state = _SplitterState.THINKING
                self._closing_tag = closing
                self._buffer = start.removeprefix(opening)
                yield from self._read_reasoning()
                if self._state is _SplitterState.BEFORE and self._buffer:
                    yield from self._read_start()
                return
            if opening.startswith(start):
                return  # nothing yet, or half a tag
        self._state = _SplitterState.ANSWER
        # Blank lines after reasoning are not part of the answer; others are.
        text = start if self._has_reasoning else self._buffer
        self._buffer = ""
        yield TextDelta(text)

    def _read_reasoning(self) -> Iterator[ReasoningDelta]:
        reasoning, tag, after = self._buffer.partition(self._closing_tag)
        if tag:
            self._buffer = after
            self._state = _SplitterState.BEFORE
            self._has_reasoning = True
            yield from _emit_reasoning(reasoning)
            return
        sure = len(self._buffer) - _count_partial_tag(self._buffer, self._closing_tag)
        reasoning, self._buffer = self._buffer[:sure], self._buffer[sure:]
        yield from _emit_reasoning(reasoning)


def _emit_reasoning(text: str) -> Iterator[ReasoningDelta]:
    if text:
        yield ReasoningDelta(text)


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
        call = self._find_call(delta)
        if call is None:
            return
        call.id = call.id or as_string(delta.get("id"))
        function = delta.get("function")
        if not isinstance(function, Mapping):
            return
        name = as_string(function.get("name"))
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

    def _find_call(self, delta: Mapping[str, Any]) -> _PartialToolCall | None:
        index, call_id = delta.get("index"), as_string(delta.get("id"))
        if not isinstance(index, int):
            if self._calls and not call_id and not _starts_call(delta):
                return self._calls[-1]
            index = _find_index(call_id, self._calls)
        for call in reversed(self._calls):
            # Some servers number every call 0 and tell them apart by their ids alone.
            if call.index == index and (not call_id or not call.id or call_id == call.id):
                return call
        if len(self._calls) >= MAX_TOOL_CALLS:
            return None
        self._calls.append(_PartialToolCall(index))
        return self._calls[-1]


def _starts_call(delta: Mapping[str, Any]) -> bool:
    """Return whether a delta without index and id starts a call: only the first has a name."""
    function = delta.get("function")
    return isinstance(function, Mapping) and bool(as_string(function.get("name")))


def _find_index(call_id: str, calls: list[_PartialToolCall]) -> int:
    same = (call.index for call in calls if call_id and call.id == call_id)
    return next(same, len(calls))


def as_string(value: object) -> str:
    """Return a string of a reply; "" for anything else."""
    return value if isinstance(value, str) else ""


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
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
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


class InvalidBodyError(Exception):
    """A body that is no chat reply; carries the text to quote."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class ReportedError(Exception):
    """An error sent in place of a reply; carries it as JSON text."""

    def __init__(self, text: str, status: int | None) -> None:
        super().__init__()
        self.text = text
        self.status = status


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
        status = code if isinstance(code, int) and code in _ERROR_STATUSES else None
        raise ReportedError(json.dumps(reply, ensure_ascii=False), status)
    return reply


class ReplyDecoder(Protocol):
    """Decodes the body of one reply; raises InvalidBodyError or ReportedError."""

    assembler: ReplyAssembler

    @property
    def is_complete(self) -> bool:
        """Return whether the server has ended the reply."""

    def feed(self, piece: bytes) -> Iterator[ChatEvent]:
        """Yield what ``piece`` adds to the reply."""

    def finish(self) -> Iterator[ChatEvent]:
        """Yield what the end of the body adds; ``is_complete`` is final after it."""


class ChatProvider(Protocol):
    """One kind of chat API."""

    def build_payload(
        self, model_name: str, request: ChatRequest, capabilities: EndpointCapabilities
    ) -> dict[str, Any]:
        """Build the body of the request."""

    def make_decoder(self) -> ReplyDecoder:
        """Return a decoder for one reply."""
