"""Document 001: an agent's events as JSON lines in Tricode's format."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from codekernel.agent.tools.call_format import format_tool_call, format_tool_result
from codekernel.domain import turn_events as happened
from codekernel.domain.turn_events import LoopEvent
from codekernel.domain.untrusted_text import escape_controls_in_json

TricodeMessage = dict[str, Any]


class TricodeLines:
    """Formats the events of one agent; a result is described with the arguments of its call."""

    def __init__(self) -> None:
        self._arguments: dict[str, Mapping[str, Any]] = {}

    def format_greeting(
        self, session: str, *, resumed: bool, unknown: Iterable[str]
    ) -> Iterator[bytes]:
        """Return the session's id, and which requested tools are unknown."""
        greeting = f"Resumed session {session}" if resumed else f"Session ID: {session}"
        yield encode_line({"type": "system", "message": greeting})
        if names := ", ".join(unknown):
            message = f"Unknown tools left out: {names}"
            yield encode_line({"type": "system", "message": message})

    def format_event(self, event: LoopEvent | None) -> Iterator[bytes]:
        """Return the line of an event, if it has one."""
        return map(encode_line, self.build_messages(event))

    def format_error(self, message: str) -> bytes:
        """Return the line for an agent that cannot start."""
        return encode_line({"type": "error", "message": message})

    def build_messages(self, event: LoopEvent | None) -> Iterator[TricodeMessage]:
        """Return the message of an event; text parts have none, only the final answer does."""
        match event:
            case happened.RoundStarted(number):
                yield {"type": "round", "number": number}
            case happened.AgentToolUsed(call_id, tool, arguments):
                self._arguments[call_id] = arguments
                yield {
                    "type": "tool_call",
                    "name": tool,
                    "arguments": dict(arguments),
                    "formatted": format_tool_call(tool, arguments),
                }
            case happened.AgentToolReturned(call_id, text, success, name=tool):
                arguments = self._arguments.pop(call_id, {})
                yield {
                    "type": "tool_result",
                    "name": tool,
                    "success": success,
                    "result": text,
                    "formatted": format_tool_result(tool, arguments, text, success=success),
                }
            case happened.TurnReminded(text):
                yield {"type": "reminder", "message": text}
            case happened.AgentFinished(text):
                yield {"type": "final", "content": text}
            case happened.TurnFailed(_, message):  # not in the document, which has plain text here
                yield {"type": "error", "message": message}


def encode_line(message: TricodeMessage) -> bytes:
    """Encode as UTF-8, with blanks as in the document; C1 controls and surrogates are escaped."""
    return escape_controls_in_json(json.dumps(message, ensure_ascii=False)).encode() + b"\n"
