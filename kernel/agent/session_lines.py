"""What the lines of a saved session say: the first all of it, the others how it went on.

{"format": 1, "root", "saved", "secrets", "plan", "messages"}     all of it, up to here
{"secrets", "plan", "messages"}                                   messages that were added
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kernel.agent.loop_transcript import Transcript
from kernel.agent.plan import Plan, Status, Task
from kernel.domain.chat import ChatMessage, Role, ToolCall
from kernel.protocol.plain_json import dumped, loaded

_FORMAT = 1


@dataclass(slots=True)
class SavedSession:
    """``root`` is the folder that the agent works in."""

    id: str
    root: Path
    transcript: Transcript = field(default_factory=Transcript)
    plan: Plan = field(default_factory=Plan)


def whole_line(session: SavedSession) -> bytes:
    """All of a session."""
    whole = {
        "format": _FORMAT,
        "root": str(session.root),
        "saved": datetime.now(UTC).isoformat(timespec="seconds"),
        **_state(session, session.transcript.messages),
    }
    return dumped(whole) + b"\n"


def added_line(session: SavedSession, already: int) -> bytes:
    """How a session goes on after the first so many messages."""
    return dumped(_state(session, session.transcript.messages[already:])) + b"\n"


def read_session(name: str, content: bytes) -> SavedSession:
    """The session of these lines, up to one that a crash cut off. Raises ValueError if broken."""
    session: SavedSession | None = None
    for line in content.split(b"\n"):
        try:
            session = _gone_on(name, session, loaded(line))
        except (ValueError, KeyError, TypeError):
            break
    if session is None:
        raise ValueError("no line has a whole session")
    return session


def _gone_on(name: str, session: SavedSession | None, line: dict[str, Any]) -> SavedSession:
    if session is None or "format" in line:
        if line["format"] != _FORMAT:
            raise ValueError("another format")
        root, before = Path(line["root"]), list[ChatMessage]()
    else:
        root, before = session.root, session.transcript.messages
    transcript = Transcript([*before, *_messages(line["messages"])], int(line["secrets"]))
    return SavedSession(name, root, transcript, _plan(line["plan"]))


def _state(session: SavedSession, messages: Sequence[ChatMessage]) -> dict[str, Any]:
    return {
        "secrets": session.transcript.secrets,
        "plan": {
            "decided": session.plan.is_decided,
            "tasks": [
                {"id": task.id, "desc": task.desc, "status": str(task.status)}
                for task in session.plan.tasks
            ],
        },
        "messages": [_written_message(message) for message in messages],
    }


def _written_message(message: ChatMessage) -> dict[str, Any]:
    written: dict[str, Any] = {"role": str(message.role), "content": message.content}
    if message.tool_calls:
        written["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": call.arguments}
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        written["tool_call_id"] = message.tool_call_id
    return written


def _messages(saved: Iterable[dict[str, Any]]) -> list[ChatMessage]:
    return [
        ChatMessage(
            Role(each["role"]),
            str(each["content"]),
            tuple(
                ToolCall(str(call["id"]), str(call["name"]), str(call["arguments"]))
                for call in each.get("tool_calls", ())
            ),
            str(each.get("tool_call_id", "")),
        )
        for each in saved
    ]


def _plan(saved: dict[str, Any]) -> Plan:
    plan = Plan()
    tasks = [
        Task(int(task["id"]), str(task["desc"]), Status(task["status"])) for task in saved["tasks"]
    ]
    if tasks:
        plan.create(tasks)
    elif saved["decided"]:
        plan.skip()
    return plan
