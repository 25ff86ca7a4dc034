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


def read_journal_lines(content: bytes) -> tuple[list[TurnEvent], bool]:
    """The events that can be read, and whether nothing is damaged.

    A last line that a crash cut off is no damage: what it was to say was never shown.
    """
    found: list[TurnEvent] = []
    is_whole = True
    for line in content.split(b"\n")[:-1]:
        try:
            name, payload = loaded(line)
            found.append(msgspec.convert(payload, _KINDS[name]))
        except (ValueError, TypeError, KeyError):
            is_whole = False
    return found, is_whole
