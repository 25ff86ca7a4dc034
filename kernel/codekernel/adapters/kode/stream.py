"""The messages of document 000, and an agent's events as the stream of its service.

The order is start; for each answer of the model text and every tool_use; for each of its tools
backend_only and tool_result; done or error. Heartbeats come all along.
"""

import json
import math
import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from codekernel.agent.tool import ToolOutcome
from codekernel.domain import turn_events as happened
from codekernel.domain.turn_events import (
    AgentSessionOpened,
    LoopEvent,
    PermissionRequested,
    PermissionSettled,
)

KodeMessage = dict[str, Any]

# What is streamed, and None several times a second while nothing happens.
StreamedEvent = LoopEvent | AgentSessionOpened | PermissionRequested | PermissionSettled | None


def make_error_message(message: str) -> KodeMessage:
    """Return the message that ends a stream early."""
    return {"type": "error", "error": "INTERNAL_ERROR", "message": message}


def encode_line(message: KodeMessage) -> bytes:
    """Encode as one line of ASCII, for readers that split multi-byte characters."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


def encode_server_sent_event(message: KodeMessage) -> bytes:
    """Encode for HTTP clients (text/event-stream)."""
    return b"data: " + encode_line(message) + b"\n"


def make_backend_only_message(tool: str, call_id: str, outcome: ToolOutcome) -> KodeMessage:
    """Return the message with a tool's data: the document's base format.

    A failure without data is its text, as in the document's MultiEdit.
    """
    data = dict(outcome.data)
    if data and not outcome.success:
        data.setdefault("error", outcome.text)
    return {
        "type": "backend_only",
        "tool_name": tool,
        "tool_use_id": call_id,
        "uuid": str(uuid.uuid4()),
        "data": data or outcome.text,
    }


def make_tool_result_message(call_id: str, result: str, *, is_error: bool = True) -> KodeMessage:
    """Return the message with the text that the model reads; a success has no ``is_error``."""
    failed = {"is_error": True} if is_error else {}
    return {"type": "tool_result", "tool_use_id": call_id, "result": result, **failed}


HEARTBEAT_INTERVAL_SECONDS = 2.0


def stream_messages(
    events: Iterable[StreamedEvent],
    model: str,
    *,
    is_new_session: bool = True,
    heartbeat_seconds: float = HEARTBEAT_INTERVAL_SECONDS,
) -> Iterator[KodeMessage]:
    """Yield every message with the time in milliseconds; the first is start."""
    builder, beats, beat_at = _KodeMessageBuilder(model, is_new_session), 0, math.inf
    for event in events:
        yield from builder.build_messages(event)
        now = time.monotonic()
        if builder.is_started and beat_at == math.inf:
            beat_at = now + heartbeat_seconds
        elif now >= beat_at and not builder.is_ended:
            # A client that did not read for long gets one for all of that time.
            beats, beat_at = beats + 1, max(beat_at + heartbeat_seconds, now)
            yield _add_time({"type": "heartbeat", "message": "processing", "count": beats})


# Events before which a text is complete.
_TEXT_ENDS = (
    happened.RoundStarted, happened.AgentToolUsed, happened.AgentFinished, happened.TurnFailed,
)  # fmt: skip


@dataclass(slots=True)
class _KodeMessageBuilder:
    """Builds messages from events; text parts are joined until the text is complete."""

    model: str
    is_new_session: bool = True
    is_started: bool = False
    is_ended: bool = False
    _agent_id: dict[str, str] = field(default_factory=dict)
    _text_parts: list[str] = field(default_factory=list)
    _is_block_closed: bool = False
    _queued: set[str] = field(default_factory=set)  # calls whose tool_use is sent

    def build_messages(self, event: StreamedEvent) -> Iterator[KodeMessage]:
        """Yield the messages of an event; thoughts and reminders have none in this protocol."""
        if event is not None and not self.is_started:
            self.is_started = True
            yield _add_time(self._start(event))
        if isinstance(event, happened.AgentFinished) and not self._text_parts:
            self._text_parts.append(event.text)
        if isinstance(event, _TEXT_ENDS):
            yield from map(_add_time, self._flush_text())
        yield from map(_add_time, self._build_tool_messages(event))
        match event:
            case happened.AgentTextDelta(text):
                self._add_text(text)
            case happened.AgentThinkingDelta():
                self._is_block_closed = True
            case happened.AgentFinished() if not self.is_ended:
                self.is_ended = True
                metadata = {"model": self.model, "timestamp": _get_time_ms()}
                yield {"type": "done", "metadata": metadata | self._agent_id}
            case happened.TurnFailed(_, message) if not self.is_ended:
                self.is_ended = True
                yield _add_time(make_error_message(message))

    def _start(self, event: StreamedEvent) -> KodeMessage:
        start: KodeMessage = {"type": "start", "model": self.model}
        if isinstance(event, AgentSessionOpened):
            self._agent_id = {"agentId": event.session}
            start |= {**self._agent_id, "isNewSession": self.is_new_session}
        return start

    def _build_tool_messages(self, event: StreamedEvent) -> Iterator[KodeMessage]:
        match event:
            case happened.AgentToolUsed(id=call_id):
                if call_id not in self._queued:
                    yield _make_tool_use_message(event)
            case happened.AgentCallsQueued(calls):
                self._queued |= {call.id for call in calls}
                yield from map(_make_tool_use_message, calls)
            case happened.AgentToolReturned(call_id, text, success, name=tool, data=data):
                yield make_backend_only_message(tool, call_id, ToolOutcome(success, text, data))
                yield make_tool_result_message(call_id, text, is_error=not success)

    def _add_text(self, text: str) -> None:
        if self._is_block_closed and self._text_parts:
            self._text_parts.append("\n")
        self._is_block_closed = False
        self._text_parts.append(text)

    def _flush_text(self) -> Iterator[KodeMessage]:
        text = "".join(self._text_parts)
        self._text_parts.clear()
        if text.strip():
            yield {"type": "text", "content": text}


def _make_tool_use_message(call: happened.AgentToolUsed) -> KodeMessage:
    return {"type": "tool_use", "tool": call.name, "input": dict(call.input), "id": call.id}


def _add_time(message: KodeMessage) -> KodeMessage:
    return {**message, "timestamp": _get_time_ms()}


def _get_time_ms() -> int:
    return time.time_ns() // 1_000_000
