"""The messages of document 000 and of the stream they travel in, as plain values and as bytes."""

import json
import uuid
from typing import Any

from kernel.agent.events import ToolCalled
from kernel.agent.tool import Outcome

Message = dict[str, Any]


def backend_only(tool_name: str, tool_use_id: str, outcome: Outcome) -> Message:
    """What a tool returned: the document's base format."""
    return {
        "type": "backend_only",
        "tool_name": tool_name,
        "tool_use_id": tool_use_id,
        "uuid": str(uuid.uuid4()),
        "data": _data(outcome),
    }


def tool_result(tool_use_id: str, result: str, *, is_error: bool) -> Message:
    """What the model read of it."""
    return {
        "type": "tool_result",
        "tool_use_id": tool_use_id,
        "result": result,
        "is_error": is_error,
    }


def tool_use(called: ToolCalled) -> Message:
    """What the model asked for."""
    return {
        "type": "tool_use",
        "tool": called.name,
        "input": dict(called.arguments),
        "id": called.id,
    }


def error(message: str) -> Message:
    """Why there is no more to come."""
    return {"type": "error", "error": "INTERNAL_ERROR", "message": message}


def as_line(message: Message) -> bytes:
    """One line of ASCII: readers that cut a character in two exist."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


def as_server_sent_event(message: Message) -> bytes:
    """The same for a client that listens over HTTP (text/event-stream)."""
    return b"data: " + as_line(message) + b"\n"


def _data(outcome: Outcome) -> dict[str, Any] | str:
    """A failure without data of its own is a sentence, as the document shows for MultiEdit."""
    if not outcome.data:
        return outcome.text
    data = dict(outcome.data)
    return data if outcome.success else {**data, "error": data.get("error", outcome.text)}
