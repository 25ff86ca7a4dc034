"""What all providers share.

The capabilities learned about an endpoint, the assembler of a reply (reasoning tags, tool call
deltas, usage), and the protocols of a provider and its decoder.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
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


@dataclass(slots=True)
class EndpointCapabilities:
    """Everything is believed of an endpoint until it says otherwise.

    Set from several threads, but each value changes once and only ever in the same direction.
    """

    supports_tools: bool = True
    supports_stream_usage: bool = True
    supports_stop: bool = True
    max_tokens_key: str = "max_tokens"
    context_tokens: int | None = None


@dataclass(slots=True)
class EndpointRegistry:
    """Remembers by url and model, since a backend may be opened for every conversation anew."""

    _capabilities: dict[tuple[str, str], EndpointCapabilities] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get_capabilities(self, url: str, model_name: str) -> EndpointCapabilities:
        """Find what is known; the value is shared by everybody who asks."""
        with self._lock:
            return self._capabilities.setdefault((url, model_name), EndpointCapabilities())


ENDPOINT_REGISTRY = EndpointRegistry()

_REASONING_TAGS = {"<think>": "</think>", "<thinking>": "</thinking>"}


class _SplitterState(Enum):
    BEFORE = auto()
    THINKING = auto()
    ANSWER = auto()


class ReasoningSplitter:
    """Text in, deltas out; holds back only what may be half a tag."""

    def __init__(self) -> None:
        self._state = _SplitterState.BEFORE
        self._buffer = ""
        self._closing_tag = ""
        self._has_reasoning = False

    def feed(self, text: str) -> Iterator[TextDelta | ReasoningDelta]:
        """Yield what is now known to be thought or said."""
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
        # The blank lines after a thought are part of its packaging; others belong to the answer.
        text = start if self._has_reasoning else self._buffer
        self._buffer = ""
        yield TextDelta(text)

    def _read_reasoning(self) -> Iterator[ReasoningDelta]:
        thought, tag, after = self._buffer.partition(self._closing_tag)
        if tag:
            self._buffer = after
            self._state = _SplitterState.BEFORE
            self._has_reasoning = True
            yield from _emit_reasoning(thought)
            return
        sure = len(self._buffer) - _count_partial_tag(self._buffer, self._closing_tag)
        thought, self._buffer = self._buffer[:sure], self._buffer[sure:]
        yield from _emit_reasoning(thought)


def _emit_reasoning(thought: str) -> Iterator[ReasoningDelta]:
    if thought:
        yield ReasoningDelta(thought)


def _count_partial_tag(text: str, tag: str) -> int:
    """How many characters at the end of ``text`` may be the beginning of ``tag``."""
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
    """Deltas in, calls out, in the order in which they began."""

    def __init__(self) -> None:
        self._calls: list[_PartialToolCall] = []

    def add_delta(self, delta: Mapping[str, Any]) -> None:
        """Take one entry of a delta's ``tool_calls``."""
        call = self._find_call(delta)
        if call is None:
            return
        call.id = call.id or _as_string(delta.get("id"))
        function = delta.get("function")
        if not isinstance(function, Mapping):
            return
        name = _as_string(function.get("name"))
        if name != call.name:  # some servers repeat it with every piece
            call.name += name
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            call.arguments += arguments
        elif arguments is not None:
            call.arguments = json.dumps(arguments, ensure_ascii=False)

    def build_calls(self) -> tuple[ChatToolCall, ...]:
        """Every call that has a name; one without an id gets one, for its answer to name."""
        return tuple(
            ChatToolCall(call.id or f"call_{number}", call.name, call.arguments or "{}")
            for number, call in enumerate(self._calls)
            if call.name
        )

    def join_text(self) -> str:
        """Everything that the model wrote for its calls."""
        return "\n".join(f"{call.name} {call.arguments}" for call in self._calls)

    def _find_call(self, delta: Mapping[str, Any]) -> _PartialToolCall | None:
        index, said_id = delta.get("index"), _as_string(delta.get("id"))
        if not isinstance(index, int):
            if self._calls and not said_id and not _starts_call(delta):
                return self._calls[-1]
            index = _find_index(said_id, self._calls)
        for call in reversed(self._calls):
            # Some servers number every call 0 and tell them apart by their ids alone.
            if call.index == index and (not said_id or not call.id or said_id == call.id):
                return call
        if len(self._calls) >= MAX_TOOL_CALLS:
            return None
        self._calls.append(_PartialToolCall(index))
        return self._calls[-1]


def _starts_call(delta: Mapping[str, Any]) -> bool:
    """Whether a piece without index and id is the first of a call: only that one has a name."""
    function = delta.get("function")
    return isinstance(function, Mapping) and bool(_as_string(function.get("name")))


def _find_index(said_id: str, calls: list[_PartialToolCall]) -> int:
    same = (call.index for call in calls if said_id and call.id == said_id)
    return next(same, len(calls))


def _as_string(value: object) -> str:
    return value if isinstance(value, str) else ""


class ReplyAssembler:
    """Takes text, thoughts and pieces of tool calls; keeps them for counting."""

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self.provider_usage: tuple[int, int] | None = None
        self._splitter = ReasoningSplitter()
        self._tool_calls = ToolCallAssembler()
        self._received: list[str] = []

    def add_text(self, text: str) -> Iterator[ChatEvent]:
        """Take the next words, among which may be a thought between tags."""
        if text:
            self._received.append(text)
            yield from self._splitter.feed(text)

    def add_reasoning(self, text: str) -> Iterator[ChatEvent]:
        """Take the next words of a thought that the server keeps apart itself."""
        if text:
            self._received.append(text)
            yield ReasoningDelta(text)

    def add_tool_calls(self, pieces: object) -> None:
        """Take a list of tool calls or of pieces of them; anything else is no list of calls."""
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                self._tool_calls.add_delta(piece)

    def set_usage(self, sent: Any, received: Any) -> None:
        """Take the provider's own count, if it is one."""
        if _is_token_count(sent) and _is_token_count(received):
            self.provider_usage = (sent, received)

    def finish(self) -> Iterator[ChatEvent]:
        """Yield what only the end of the answer makes certain."""
        yield from self._splitter.finish()
        calls = self._tool_calls.build_calls()
        if calls:
            yield ChatToolCalls(calls)
        yield ChatFinished(self.finish_reason or ("tool_calls" if calls else "stop"))

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been received at all."""
        return not self._received and not self._tool_calls.join_text()

    def join_received(self) -> str:
        """Everything the model wrote, thoughts and calls included."""
        return "".join((*self._received, self._tool_calls.join_text()))


def _is_token_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


class InvalidBodyError(Exception):
    """A body that is no chat answer; carries the text to quote."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class ReportedError(Exception):
    """An error that the server put where its answer should be; carries it as JSON text."""

    def __init__(self, text: str, status: int | None) -> None:
        super().__init__()
        self.text = text
        self.status = status


class ReplyDecoder(Protocol):
    """Reads the body of one answer; raises Garbled or Reported."""

    assembler: ReplyAssembler

    @property
    def is_complete(self) -> bool:
        """Whether the server has said that this was all."""

    def feed(self, piece: bytes) -> Iterator[ChatEvent]:
        """Yield what ``piece`` adds to the answer."""

    def finish(self) -> Iterator[ChatEvent]:
        """Yield what the end of the body adds; ``complete`` is right after it."""


class ChatProvider(Protocol):
    """How to ask, and how to read what is said."""

    def build_payload(
        self, model_name: str, request: ChatRequest, capabilities: EndpointCapabilities
    ) -> dict[str, Any]:
        """Build the body of the request."""

    def make_decoder(self) -> ReplyDecoder:
        """Make a reader for one answer."""
