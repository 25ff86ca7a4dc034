"""A turn for programs: one line of JSON for each event, with the fields of the protocol."""

from kernel.domain.terminal_text import escape_json
from kernel.domain.turn_events import Done, Failed, Shown
from kernel.domain.usage import Price
from kernel.protocol.messages.conversation import cost_of, talk_part
from kernel.protocol.plain_json import dumped, loaded


def begin_line(conversation_id: int, model: str, root: str) -> str:
    """The line before all events."""
    return _line(
        {"type": "begin", "conversationId": conversation_id, "modelName": model, "repo": root}
    )


def event_line(event: Shown, price: Price | None) -> str:
    """One event."""
    if isinstance(event, Failed):
        return _line({"type": "error", "code": event.code, "message": event.message})
    part = talk_part(event)
    if not isinstance(event, Done) or price is None:
        return _line(part)
    spent = event.spent
    fields = loaded(dumped(part))
    fields["cost"] = cost_of(price, spent.input_tokens, spent.output_tokens)
    return _line(fields)


def _line(value: object) -> str:
    return escape_json(dumped(value).decode())
