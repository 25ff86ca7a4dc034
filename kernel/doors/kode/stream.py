"""An agent's work as a client of the document follows it: start, ..., done or error.

A model's text is told when it is whole, one message for each time the model spoke, because that is
how clients of this stream count; a heartbeat says meanwhile that somebody is still there.
"""

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Final

from kernel.agent.events import (
    AgentEvent,
    Failed,
    Finished,
    RoundBegun,
    TextPart,
    ToolCalled,
    ToolReturned,
)
from kernel.domain.cancel import CancelToken
from kernel.doors.kode.messages import Message, backend_only, error, tool_result, tool_use
from kernel.errors import KernelError

HEARTBEAT_SECONDS: Final = 2.0
USUAL_MODEL: Final = "main"

# What comes out of the agent's thread; None once it has ended.
_Coming = SimpleQueue[AgentEvent | None]


def stream(
    events: Iterable[AgentEvent],
    cancel: CancelToken,
    *,
    model: str = USUAL_MODEL,
    heartbeat_seconds: float = HEARTBEAT_SECONDS,
) -> Iterator[Message]:
    """Every message, each with the time in milliseconds; a client that leaves cancels the agent."""
    yield _timed({"type": "start", "model": model})
    coming: _Coming = SimpleQueue()
    thread = ThreadPoolExecutor(1, thread_name_prefix="kode-stream")
    try:
        running = thread.submit(_run, events, coming)
        told = _Told(model)
        for event in _with_heartbeats(coming, heartbeat_seconds):
            yield from map(_timed, [event] if isinstance(event, dict) else told.messages(event))
        if not told.ended:
            yield _timed(error(_why(running)))
    finally:
        cancel.cancel()
        thread.shutdown(wait=False)


@dataclass(slots=True)
class _Told:
    """What has been said already, and the words of the model that are not whole yet."""

    model: str
    ended: bool = False
    _words: list[str] = field(default_factory=list)

    def messages(self, event: AgentEvent) -> Iterator[Message]:
        """What is said of an event; thoughts and reminders have no words in this protocol."""
        if isinstance(event, TextPart):
            self._words.append(event.text)
            return
        if isinstance(event, Finished) and not self._words:
            self._words.append(event.text)
        if isinstance(event, RoundBegun | ToolCalled | Finished | Failed):
            yield from self._spoken()
        if isinstance(event, ToolCalled):
            yield tool_use(event)
        elif isinstance(event, ToolReturned):
            yield backend_only(event.name, event.id, event.outcome)
            yield tool_result(event.id, event.outcome.text, is_error=not event.outcome.success)
        elif isinstance(event, Finished | Failed):
            yield from self._last(event)

    def _spoken(self) -> Iterator[Message]:
        text = "".join(self._words)
        self._words.clear()
        if text.strip():
            yield {"type": "text", "content": text}

    def _last(self, event: Finished | Failed) -> Iterator[Message]:
        if self.ended:
            return
        self.ended = True
        if isinstance(event, Failed):
            yield error(event.message)
        else:
            yield {"type": "done", "metadata": {"model": self.model, "timestamp": _now()}}


def _run(events: Iterable[AgentEvent], coming: _Coming) -> None:
    try:
        for event in events:
            coming.put(event)
    finally:
        coming.put(None)


def _with_heartbeats(coming: _Coming, seconds: float) -> Iterator[AgentEvent | Message]:
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


def _why(running: "Future[None]") -> str:
    """Why an agent ended without a last word."""
    broken = running.exception()
    if isinstance(broken, KernelError):
        return str(broken)
    if broken is not None:
        return f"The agent stopped unexpectedly ({type(broken).__name__})."
    return "The agent stopped without an answer."


def _timed(message: Message) -> Message:
    return message if message["type"] == "done" else {**message, "timestamp": _now()}


def _now() -> int:
    return time.time_ns() // 1_000_000
