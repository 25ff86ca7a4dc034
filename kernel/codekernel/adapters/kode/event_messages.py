"""The messages of document 000, and an agent's events as a stream of them.

The order is start, text, tool_use, backend_only, tool_result, heartbeat, then done or error.
"""

import json
import time
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Final

from codekernel.agent.tool import ToolOutcome
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.turn_events import (
    AgentFinished,
    AgentTextDelta,
    AgentToolReturned,
    AgentToolUsed,
    LoopEvent,
    RoundStarted,
    TurnFailed,
)
from codekernel.errors import KernelError

Message = dict[str, Any]


def make_backend_only_message(tool_name: str, tool_use_id: str, outcome: ToolOutcome) -> Message:
    """Return the message with a tool's data: the document's base format."""
    return {
        "type": "backend_only",
        "tool_name": tool_name,
        "tool_use_id": tool_use_id,
        "uuid": str(uuid.uuid4()),
        "data": _build_data(outcome),
    }


def make_tool_result_message(tool_use_id: str, result: str, *, is_error: bool) -> Message:
    """Return the message with the text that the model reads."""
    return {
        "type": "tool_result",
        "tool_use_id": tool_use_id,
        "result": result,
        "is_error": is_error,
    }


def make_error_message(message: str) -> Message:
    """Return the message that ends a stream early."""
    return {"type": "error", "error": "INTERNAL_ERROR", "message": message}


def encode_line(message: Message) -> bytes:
    """Encode as one line of ASCII, for readers that split multi-byte characters."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


def encode_server_sent_event(message: Message) -> bytes:
    """Encode for HTTP clients (text/event-stream)."""
    return b"data: " + encode_line(message) + b"\n"


def _build_data(outcome: ToolOutcome) -> dict[str, Any] | str:
    """Return the data; a failure without data is its text, as in the document's MultiEdit."""
    if not outcome.data:
        return outcome.text
    data = dict(outcome.data)
    return data if outcome.success else {**data, "error": data.get("error", outcome.text)}


HEARTBEAT_INTERVAL_SECONDS: Final = 2.0

DEFAULT_MODEL: Final = "main"

# The events of the agent's thread; None at its end.
_EventQueue = SimpleQueue[LoopEvent | None]


def stream_messages(
    events: Iterable[LoopEvent],
    cancel: CancelToken,
    *,
    model: str = DEFAULT_MODEL,
    heartbeat_seconds: float = HEARTBEAT_INTERVAL_SECONDS,
) -> Iterator[Message]:
    """Yield every message with the time in milliseconds; closing it cancels the agent."""
    yield _add_timestamp({"type": "start", "model": model})
    coming: _EventQueue = SimpleQueue()
    thread = ThreadPoolExecutor(1, thread_name_prefix="kode-stream")
    try:
        running = thread.submit(_pump_events, events, coming)
        builder = _KodeMessageBuilder(model)
        for event in _iterate_with_heartbeats(coming, heartbeat_seconds):
            yield from map(
                _add_timestamp,
                [event] if isinstance(event, dict) else builder.build_messages(event),
            )
        if not builder.is_ended:
            yield _add_timestamp(make_error_message(_describe_failure(running)))
    finally:
        cancel.cancel()
        thread.shutdown(wait=False)


@dataclass(slots=True)
class _KodeMessageBuilder:
    """Builds messages from events; text parts are joined until the text is complete."""

    model: str
    is_ended: bool = False
    _text_parts: list[str] = field(default_factory=list)

    def build_messages(self, event: LoopEvent) -> Iterator[Message]:
        """Return the messages of an event; thoughts and reminders have none in this protocol."""
        if isinstance(event, AgentTextDelta):
            self._text_parts.append(event.text)
            return
        if isinstance(event, AgentFinished) and not self._text_parts:
            self._text_parts.append(event.text)
        if isinstance(event, RoundStarted | AgentToolUsed | AgentFinished | TurnFailed):
            yield from self._flush_text()
        if isinstance(event, AgentToolUsed):
            arguments = dict(event.input)
            yield {"type": "tool_use", "tool": event.name, "input": arguments, "id": event.id}
        elif isinstance(event, AgentToolReturned):
            outcome = ToolOutcome(event.success, event.text, event.data)
            yield make_backend_only_message(event.name, event.id, outcome)
            yield make_tool_result_message(event.id, event.text, is_error=not event.success)
        elif isinstance(event, AgentFinished | TurnFailed):
            yield from self._build_last(event)

    def _flush_text(self) -> Iterator[Message]:
        text = "".join(self._text_parts)
        self._text_parts.clear()
        if text.strip():
            yield {"type": "text", "content": text}

    def _build_last(self, event: AgentFinished | TurnFailed) -> Iterator[Message]:
        if self.is_ended:
            return
        self.is_ended = True
        if isinstance(event, TurnFailed):
            yield make_error_message(event.message)
        else:
            yield {"type": "done", "metadata": {"model": self.model, "timestamp": _get_time_ms()}}


def _pump_events(events: Iterable[LoopEvent], coming: _EventQueue) -> None:
    try:
        for event in events:
            coming.put(event)
    finally:
        coming.put(None)


def _iterate_with_heartbeats(coming: _EventQueue, seconds: float) -> Iterator[LoopEvent | Message]:
    count = 0
    beat_at = time.monotonic() + seconds
    while True:
        try:
            event = coming.get(timeout=max(0.0, beat_at - time.monotonic()))
        except Empty:
            count += 1
            beat_at += seconds
            yield {"type": "heartbeat", "message": "processing", "count": count}
            continue
        if event is None:
            return
        yield event


def _describe_failure(running: "Future[None]") -> str:
    """Describe why an agent ended without a last event."""
    error = running.exception()
    if isinstance(error, KernelError):
        return str(error)
    if error is not None:
        return f"The agent stopped unexpectedly ({type(error).__name__})."
    return "The agent stopped without an answer."


def _add_timestamp(message: Message) -> Message:
    return message if message["type"] == "done" else {**message, "timestamp": _get_time_ms()}


def _get_time_ms() -> int:
    return time.time_ns() // 1_000_000
