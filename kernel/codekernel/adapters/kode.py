"""Document 000: the tool calls of a Kode backend, and an agent's events as its messages.

The order of a stream is start, text, tool_use, backend_only, tool_result, heartbeat, then done or
error. Calls are answered one JSON line each, in order; ``ReadBeforeWrite`` requires that a file is
read before it is written.
"""

import json
import os
import time
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from codekernel.agent import tool_policy
from codekernel.agent.registry import ToolRegistry, decode_arguments
from codekernel.agent.tool import ToolContext, ToolOutcome
from codekernel.agent.tool_policy import PermissionPolicy, ToolPermissionRequest
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.agent.workspace.text_file import FileStates
from codekernel.domain import turn_events as happened
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.turn_events import LoopEvent
from codekernel.domain.untrusted_text import parse_json
from codekernel.errors import KernelError
from codekernel.transport.lines import Line, OversizedLine

KodeMessage = dict[str, Any]


def make_error_message(message: str) -> KodeMessage:
    """Return the message that ends a stream early."""
    return {"type": "error", "error": "INTERNAL_ERROR", "message": message}


def encode_line(message: KodeMessage) -> bytes:
    """Encode as one line of ASCII, for readers that split multi-byte characters."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


def encode_server_sent_event(message: KodeMessage) -> bytes:
    """Encode for HTTP clients (text/event-stream)."""
    return b"data: " + encode_line(message) + b"\n"


def _make_backend_only_message(tool: str, call_id: str, outcome: ToolOutcome) -> KodeMessage:
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


def _make_tool_result_message(call_id: str, result: str, *, is_error: bool = True) -> KodeMessage:
    """Return the message with the text that the model reads."""
    return {"type": "tool_result", "tool_use_id": call_id, "result": result, "is_error": is_error}


HEARTBEAT_INTERVAL_SECONDS = 2.0

DEFAULT_MODEL = "main"


def stream_messages(
    events: Iterable[LoopEvent],
    cancel: CancelToken,
    *,
    model: str = DEFAULT_MODEL,
    heartbeat_seconds: float = HEARTBEAT_INTERVAL_SECONDS,
) -> Iterator[KodeMessage]:
    """Yield every message with the time in milliseconds; closing it cancels the agent."""
    for message in _build_stream(events, cancel, model, heartbeat_seconds):
        has_own = message["type"] == "done"
        yield message if has_own else {**message, "timestamp": _get_time_ms()}


def _build_stream(
    events: Iterable[LoopEvent], cancel: CancelToken, model: str, heartbeat_seconds: float
) -> Iterator[KodeMessage]:
    coming: SimpleQueue[LoopEvent | None] = SimpleQueue()

    def pump_events() -> None:
        try:
            for event in events:
                coming.put(event)
        finally:
            coming.put(None)

    yield {"type": "start", "model": model}
    builder, beats = _KodeMessageBuilder(model), 0
    beat_at = time.monotonic() + heartbeat_seconds
    pool = ThreadPoolExecutor(1, thread_name_prefix="kode-stream")
    try:
        running = pool.submit(pump_events)
        while True:
            try:
                event = coming.get(timeout=max(0.0, beat_at - time.monotonic()))
            except Empty:
                beats, beat_at = beats + 1, beat_at + heartbeat_seconds
                yield {"type": "heartbeat", "message": "processing", "count": beats}
                continue
            if event is None:
                break
            yield from builder.build_messages(event)
        if not builder.is_ended:
            yield make_error_message(_describe_failure(running.exception()))
    finally:
        cancel.cancel()
        pool.shutdown(wait=False)


def _describe_failure(error: BaseException | None) -> str:
    """Describe why an agent ended without a last event."""
    if error is None:
        return "The agent stopped without an answer."
    is_known = isinstance(error, KernelError)
    return str(error) if is_known else f"The agent stopped unexpectedly ({type(error).__name__})."


# Events before which a text is complete.
_TEXT_ENDS = (
    happened.RoundStarted, happened.AgentToolUsed, happened.AgentFinished, happened.TurnFailed,
)  # fmt: skip


@dataclass(slots=True)
class _KodeMessageBuilder:
    """Builds messages from events; text parts are joined until the text is complete."""

    model: str
    is_ended: bool = False
    _text_parts: list[str] = field(default_factory=list)

    def build_messages(self, event: LoopEvent) -> Iterator[KodeMessage]:
        """Return the messages of an event; thoughts and reminders have none in this protocol."""
        if isinstance(event, happened.AgentFinished) and not self._text_parts:
            self._text_parts.append(event.text)
        if isinstance(event, _TEXT_ENDS):
            yield from self._flush_text()
        match event:
            case happened.AgentTextDelta(text):
                self._text_parts.append(text)
            case happened.AgentToolUsed(call_id, tool, arguments):
                yield {"type": "tool_use", "tool": tool, "input": dict(arguments), "id": call_id}
            case happened.AgentToolReturned(call_id, text, success, name=tool, data=data):
                yield _make_backend_only_message(tool, call_id, ToolOutcome(success, text, data))
                yield _make_tool_result_message(call_id, text, is_error=not success)
            case happened.AgentFinished() if not self.is_ended:
                self.is_ended = True
                metadata = {"model": self.model, "timestamp": _get_time_ms()}
                yield {"type": "done", "metadata": metadata}
            case happened.TurnFailed(_, message) if not self.is_ended:
                self.is_ended = True
                yield make_error_message(message)

    def _flush_text(self) -> Iterator[KodeMessage]:
        text = "".join(self._text_parts)
        self._text_parts.clear()
        if text.strip():
            yield {"type": "text", "content": text}


def _get_time_ms() -> int:
    return time.time_ns() // 1_000_000


# The arguments in which the tools of the document take the file that they change.
_PATH_FIELDS = ("file_path", "notebook_path")


@dataclass(frozen=True, slots=True)
class ReadBeforeWrite:
    """Other permissions, and no change of a file that was not read as it is now."""

    permissions: PermissionPolicy
    registry: ToolRegistry
    root: WorkspaceRoot
    file_states: FileStates

    def get_refusal(self, request: ToolPermissionRequest) -> str | None:
        """Return the reason if the file was not read or has changed since."""
        changed = self._find_changed_file(request)
        if changed is not None and not self.file_states.has_state(changed[0]):
            return "File has not been read yet. Read it first before writing to it."
        if changed is not None and self.file_states.is_stale(*changed):
            return "File has been modified since it was read. Read it again before writing to it."
        return self.permissions.get_refusal(request)

    def _find_changed_file(
        self, request: ToolPermissionRequest
    ) -> tuple[Path, os.stat_result] | None:
        """Return the existing file that would be changed, and its status."""
        given = request.arguments
        if request.permission is not tool_policy.ToolPermission.WRITES or not isinstance(
            given, dict | str | bytes
        ):
            return None
        try:
            arguments = decode_arguments(self.registry[request.tool].arguments, given)
            paths = (getattr(arguments, name, None) for name in _PATH_FIELDS)
            path = next(filter(None, paths), None)
            if not path:
                return None
            with self.root.reach(path) as place:
                return (place.path, place.status) if place.status else None
        except tool_policy.ToolError:  # the tool itself reports it
            return None


# The fields of a call, their types and what these are called.
_CALL_FIELDS = (
    ("tool_name", str, "a text"), ("tool_use_id", str, "a text"), ("input", dict, "an object")
)  # fmt: skip


def answer_lines(
    lines: Iterable[Line], registry: ToolRegistry, context: ToolContext
) -> Iterator[KodeMessage]:
    """Yield the messages that answer the lines, in order. Raises Cancelled if the context is."""
    for line in lines:
        fields, mistake = _parse_fields(line)
        given_id = fields.get("tool_use_id")
        call_id = given_id if isinstance(given_id, str) else ""
        if mistake:
            yield _make_tool_result_message(call_id, mistake)
        else:
            tool, arguments = fields["tool_name"], fields["input"]
            yield from execute_call(tool, call_id, arguments, registry, context)


def execute_call(
    tool: str,
    call_id: str,
    arguments: dict[str, Any],
    registry: ToolRegistry,
    context: ToolContext,
) -> Iterator[KodeMessage]:
    """Execute a call and yield the messages about it."""
    outcome = registry.call(tool, arguments, context)
    yield _make_backend_only_message(tool, call_id, outcome)
    if not outcome.success:
        yield _make_tool_result_message(call_id, outcome.text)


def _parse_fields(line: Line) -> tuple[dict[str, Any], str]:
    """Return the fields of a line, and what is wrong with them, if anything is."""
    if isinstance(line, OversizedLine):
        return {}, f"The line is too long: {line.length:,} bytes."
    try:
        request = parse_json(line)
    except ValueError as error:
        return {}, f"The line is no JSON: {error}."
    if not isinstance(request, dict):
        return {}, "The line is no JSON object."
    fields = {"input": {}, **request}
    for name, type_, kind in _CALL_FIELDS:
        if not isinstance(fields.get(name), type_):
            return fields, f"`{name}` is missing or not {kind}."
    return fields, ""
