"""One event of a turn as a line of its journal, and back."""

import msgspec

from kernel.domain import turn_events as events
from kernel.domain.turn_events import TurnEvent
from kernel.protocol.plain_json import dumped, loaded

_KINDS: dict[str, type[TurnEvent]] = {
    "begun": events.Begun,
    "annotation": events.Annotated,
    "search": events.Searched,
    "result": events.Retrieved,
    "doneRetrieval": events.RetrievalDone,
    "answer": events.AnswerPart,
    "failed": events.Failed,
    "done": events.Done,
    "sent": events.Sent,
    "received": events.Received,
    "counted": events.Counted,
    "said": events.SaidPart,
    "thought": events.ThoughtPart,
    "toolUse": events.ToolUsed,
    "toolResult": events.ToolDone,
    "reminded": events.Reminded,
    "changed": events.Changed,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def journal_line(event: TurnEvent) -> bytes:
    """The event with a newline at its end, by which a line that was cut off is known."""
    return dumped([_NAMES[type(event)], event]) + b"\n"


def journal_events(content: bytes) -> list[TurnEvent]:
    """The events up to the first line that a crash cut off, or that is not one of ours."""
    found: list[TurnEvent] = []
    for line in content.splitlines(keepends=True):
        try:
            name, payload = loaded(line)
            event = msgspec.convert(payload, _KINDS[name])
        except (ValueError, TypeError, KeyError):
            break
        if not line.endswith(b"\n"):
            break
        found.append(event)
    return found
