"""The messages of document 000 and an agent's events as their stream.

Start, text, tool_use, backend_only, tool_result, heartbeat, then done or error.
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
    """What a tool returned: the document's base format."""
    return {
        "type": "backend_only",
        "tool_name": tool_name,
        "tool_use_id": tool_use_id,
        "uuid": str(uuid.uuid4()),
        "data": _build_data(outcome),
    }


def make_tool_result_message(tool_use_id: str, result: str, *, is_error: bool) -> Message:
    """What the model read of it."""
    return {
        "type": "tool_result",
        "tool_use_id": tool_use_id,
        "result": result,
        "is_error": is_error,
    }


def make_tool_use_message(called: AgentToolUsed) -> Message:
    """What the model asked for."""
    return {
        "type": "tool_use",
        "tool": called.name,
        "input": dict(called.input),
        "id": called.id,
    }


def make_error_message(message: str) -> Message:
    """Why there is no more to come."""
    return {"type": "error", "error": "INTERNAL_ERROR", "message": message}


def encode_line(message: Message) -> bytes:
    """One line of ASCII: readers that cut a character in two exist."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


def encode_server_sent_event(message: Message) -> bytes:
    """The same for a client that listens over HTTP (text/event-stream)."""
    return b"data: " + encode_line(message) + b"\n"


def _build_data(outcome: ToolOutcome) -> dict[str, Any] | str:
    """A failure without data of its own is a sentence, as the document shows for MultiEdit."""
    if not outcome.data:
        return outcome.text
    data = dict(outcome.data)
    return data if outcome.success else {**data, "error": data.get("error", outcome.text)}


HEARTBEAT_INTERVAL_SECONDS: Final = 2.0

DEFAULT_MODEL: Final = "main"

# What comes out of the agent's thread; None once it has ended.
_EventQueue = SimpleQueue[LoopEvent | None]


def stream_messages(
    events: Iterable[LoopEvent],
    cancel: CancelToken,
    *,
    model: str = DEFAULT_MODEL,
    heartbeat_seconds: float = HEARTBEAT_INTERVAL_SECONDS,
) -> Iterator[Message]:
    """Every message, each with the time in milliseconds; a client that leaves cancels the agent."""
    yield _add_timestamp({"type": "start", "model": model})
    coming: _EventQueue = SimpleQueue()
    thread = ThreadPoolExecutor(1, thread_name_prefix="kode-stream")
    try:
        running = thread.submit(_pump_events, events, coming)
        told = _KodeMessageBuilder(model)
        for event in _iterate_with_heartbeats(coming, heartbeat_seconds):
            yield from map(
                _add_timestamp, [event] if isinstance(event, dict) else told.build_messages(event)
            )
        if not told.is_ended:
            yield _add_timestamp(make_error_message(_describe_failure(running)))
    finally:
        cancel.cancel()
        thread.shutdown(wait=False)


@dataclass(slots=True)
class _KodeMessageBuilder:
    """What has been said already, and the words of the model that are not whole yet."""

    model: str
    is_ended: bool = False
    _text_parts: list[str] = field(default_factory=list)

    def build_messages(self, event: LoopEvent) -> Iterator[Message]:
        """What is said of an event; thoughts and reminders have no words in this protocol."""
        if isinstance(event, AgentTextDelta):
            self._text_parts.append(event.text)
            return
        if isinstance(event, AgentFinished) and not self._text_parts:
            self._text_parts.append(event.text)
        if isinstance(event, RoundStarted | AgentToolUsed | AgentFinished | TurnFailed):
            yield from self._flush_text()
        if isinstance(event, AgentToolUsed):
            yield make_tool_use_message(event)
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
    """Why an agent ended without a last word."""
    broken = running.exception()
    if isinstance(broken, KernelError):
        return str(broken)
    if broken is not None:
        return f"The agent stopped unexpectedly ({type(broken).__name__})."
    return "The agent stopped without an answer."


def _add_timestamp(message: Message) -> Message:
    return message if message["type"] == "done" else {**message, "timestamp": _get_time_ms()}


def _get_time_ms() -> int:
    return time.time_ns() // 1_000_000
