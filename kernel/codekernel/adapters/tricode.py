"""Document 001: an agent's events as JSON lines on stdout in Tricode's format.

The selection of tools by `--tools a,b`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from codekernel.agent.registry import ToolRegistry
from codekernel.agent.system_prompt import PLAN_TOOL_NAME
from codekernel.agent.tools.call_format import format_tool_call, format_tool_result
from codekernel.domain.turn_events import (
    AgentFinished,
    AgentToolReturned,
    AgentToolUsed,
    LoopEvent,
    RoundStarted,
    TurnFailed,
    TurnReminded,
)
from codekernel.domain.untrusted_text import escape_controls_in_json

TricodeMessage = dict[str, Any]


def make_system_message(message: str) -> TricodeMessage:
    """A notice, such as the session's id."""
    return {"type": "system", "message": message}


def make_round_message(number: int) -> TricodeMessage:
    """The model is asked again."""
    return {"type": "round", "number": number}


def make_tool_call_message(
    name: str, arguments: Mapping[str, Any], formatted: str
) -> TricodeMessage:
    """A tool is about to be used."""
    return {
        "type": "tool_call",
        "name": name,
        "arguments": dict(arguments),
        "formatted": formatted,
    }


def make_tool_result_message(
    name: str, result: str, formatted: str, *, success: bool
) -> TricodeMessage:
    """What came of it."""
    return {
        "type": "tool_result",
        "name": name,
        "success": success,
        "result": result,
        "formatted": formatted,
    }


def make_reminder_message(message: str) -> TricodeMessage:
    """The model wanted to end before its plan did."""
    return {"type": "reminder", "message": message}


def make_final_message(content: str) -> TricodeMessage:
    """The answer."""
    return {"type": "final", "content": content}


def make_error_message(message: str) -> TricodeMessage:
    """Why there is no answer; not in the document, which lets plain text stand there instead."""
    return {"type": "error", "message": message}


def encode_line(message: TricodeMessage) -> bytes:
    """UTF-8, with blanks as in the document; C1 controls and what is no Unicode are escaped."""
    return escape_controls_in_json(json.dumps(message, ensure_ascii=False)).encode() + b"\n"


def make_greeting(session: str, *, resumed: bool) -> TricodeMessage:
    """The first line."""
    return make_system_message(
        f"Resumed session {session}" if resumed else f"Session ID: {session}"
    )


@dataclass(slots=True)
class TricodeMessageBuilder:
    """Told event by event, because a result is described with the arguments of its call."""

    _arguments: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def build_messages(self, event: LoopEvent) -> Iterator[TricodeMessage]:
        """What is said of an event; words on the way have none, only the last answer does."""
        match event:
            case RoundStarted(number):
                yield make_round_message(number)
            case AgentToolUsed(tool_use_id, tool, arguments):
                self._arguments[tool_use_id] = arguments
                yield make_tool_call_message(tool, arguments, format_tool_call(tool, arguments))
            case AgentToolReturned(tool_use_id, text, success, name=tool):
                given = self._arguments.pop(tool_use_id, {})
                short = format_tool_result(tool, given, text, success=success)
                yield make_tool_result_message(tool, text, short, success=success)
            case TurnReminded(text):
                yield make_reminder_message(text)
            case AgentFinished(text):
                yield make_final_message(text)
            case TurnFailed(_, message):
                yield make_error_message(message)


def select_tools(
    default_tools: ToolRegistry, registry: ToolRegistry, names: str | None
) -> tuple[ToolRegistry, list[str]]:
    """The tools of a list with commas, plan first, and the names that nobody knows.

    Without a list, the usual ones. The others do not exist for the agent.
    """
    if names is None:
        return default_tools, []
    wanted = [stripped for name in names.split(",") if (stripped := name.strip())]
    unknown = [name for name in dict.fromkeys(wanted) if name not in registry]
    return registry.select([PLAN_TOOL_NAME, *wanted]), unknown
