"""An agent's events in the messages of document 001."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kernel.agent.events import (
    AgentEvent,
    Failed,
    Finished,
    Reminded,
    RoundBegun,
    ToolCalled,
    ToolReturned,
)
from kernel.agent.formatted import formatted_call, formatted_result
from kernel.doors.tricode import messages
from kernel.doors.tricode.messages import Message


def greeting(session: str, *, resumed: bool) -> Message:
    """The first line."""
    return messages.system(f"Resumed session {session}" if resumed else f"Session ID: {session}")


@dataclass(slots=True)
class Telling:
    """Told event by event, because a result is described with the arguments of its call."""

    _arguments: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def messages(self, event: AgentEvent) -> Iterator[Message]:
        """What is said of an event; words on the way have none, only the last answer does."""
        match event:
            case RoundBegun(number):
                yield messages.round_begun(number)
            case ToolCalled(name, tool, arguments):
                self._arguments[name] = arguments
                yield messages.tool_call(tool, arguments, formatted_call(tool, arguments))
            case ToolReturned(name, tool, outcome):
                given = self._arguments.pop(name, {})
                text, success = outcome.text, outcome.success
                short = formatted_result(tool, given, text, success=success)
                yield messages.tool_result(tool, text, short, success=success)
            case Reminded(text):
                yield messages.reminder(text)
            case Finished(text):
                yield messages.final(text)
            case Failed(message):
                yield messages.error(message)
