"""JSON lines format of a saved agent session.

A first line with the whole state, then lines with the messages that were added. Parses damaged
files as far as possible.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from codekernel.agent.plan import Plan, PlanTask, TaskStatus
from codekernel.agent.transcript import Transcript
from codekernel.domain.chat import ChatMessage, ChatToolCall, Role
from codekernel.protocol.envelope import dump_json, load_json

_FORMAT_VERSION = 1


class UnknownSessionFormat(ValueError):
    """Another version has written the session."""


@dataclass(slots=True)
class AgentSession:
    """``root`` is the folder that the agent works in; 0 is no conversation."""

    id: str
    root: Path
    transcript: Transcript = field(default_factory=Transcript)
    plan: Plan = field(default_factory=Plan)
    conversation_id: int = 0


def format_session(session: AgentSession) -> bytes:
    """All of a session."""
    whole = {
        "format": _FORMAT_VERSION,
        "root": str(session.root),
        "conversation": session.conversation_id,
        "saved": datetime.now(UTC).isoformat(timespec="seconds"),
        **_build_state(session, session.transcript.messages),
    }
    return dump_json(whole) + b"\n"


def format_added_messages(session: AgentSession, saved_count: int) -> bytes:
    """Return the line of the messages after the first ``saved_count``."""
    return dump_json(_build_state(session, session.transcript.messages[saved_count:])) + b"\n"


def parse_session(name: str, content: bytes) -> tuple[AgentSession, bool]:
    """Parse the lines of a session; return it and whether all of them could be read.

    What follows an unreadable line is left out; a last line that a crash cut off is no damage.
    Raises UnknownSessionFormat, and ValueError if nothing can be read.
    """
    session: AgentSession | None = None
    lines = content.split(b"\n")
    is_whole = True
    for number, line in enumerate(lines, 1):
        try:
            session = _apply_line(name, session, load_json(line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, UnknownSessionFormat):
                raise
            is_whole = number == len(lines)
            break
    if session is None:
        raise ValueError("no line has a whole session")
    return session, is_whole


def _apply_line(name: str, session: AgentSession | None, line: dict[str, Any]) -> AgentSession:
    if session is None or "format" in line:
        if line["format"] != _FORMAT_VERSION:
            raise UnknownSessionFormat("another format")
        root, before = Path(line["root"]), list[ChatMessage]()
        number = int(line.get("conversation", 0))
    else:
        root, before = session.root, session.transcript.messages
        number = session.conversation_id
    transcript = Transcript([*before, *_parse_messages(line["messages"])], int(line["secrets"]))
    return AgentSession(name, root, transcript, _parse_plan(line["plan"]), number)


def _build_state(session: AgentSession, messages: Sequence[ChatMessage]) -> dict[str, Any]:
    return {
        "secrets": session.transcript.secret_count,
        "plan": {
            "decided": session.plan.is_decided,
            "tasks": list(map(asdict, session.plan.tasks)),
        },
        "messages": [
            {key: value for key, value in asdict(message).items() if value or key == "content"}
            for message in messages
        ],
    }


def _parse_messages(saved: Iterable[dict[str, Any]]) -> list[ChatMessage]:
    return [
        ChatMessage(
            Role(each["role"]),
            str(each["content"]),
            tuple(
                ChatToolCall(str(call["id"]), str(call["name"]), str(call["arguments"]))
                for call in each.get("tool_calls", ())
            ),
            str(each.get("tool_call_id", "")),
        )
        for each in saved
    ]


def _parse_plan(saved: dict[str, Any]) -> Plan:
    plan = Plan()
    tasks = [
        PlanTask(int(task["id"]), str(task["desc"]), TaskStatus(task["status"]))
        for task in saved["tasks"]
    ]
    if tasks:
        plan.create(tasks)
    elif saved["decided"]:
        plan.skip()
    return plan
