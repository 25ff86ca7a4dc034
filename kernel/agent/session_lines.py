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


class ForeignSession(ValueError):
    """Another version has written the session."""


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


def read_session(name: str, content: bytes) -> tuple[SavedSession, bool]:
    """The session of these lines, and whether all of them could be read.

    What follows a line that cannot be read is left out; a last line that a crash cut off is no
    damage. Raises ForeignSession, and ValueError if nothing can be read.
    """
    session: SavedSession | None = None
    lines = content.split(b"\n")
    is_whole = True
    for number, line in enumerate(lines, 1):
        try:
            session = _gone_on(name, session, loaded(line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, ForeignSession):
                raise
            is_whole = number == len(lines)
            break
    if session is None:
        raise ValueError("no line has a whole session")
    return session, is_whole


def _gone_on(name: str, session: SavedSession | None, line: dict[str, Any]) -> SavedSession:
    if session is None or "format" in line:
        if line["format"] != _FORMAT:
            raise ForeignSession("another format")
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
