"""A message of a session as the contract writes it: an envelope with its place in the session."""

from typing import Any

from codekernel.adapters.uap.messages import wrap_in_envelope
from codekernel.domain import chat
from codekernel.domain.agent_sessions import META_NOTICE, SessionMessage
from codekernel.domain.chat import AgentMessage, JsonObject, TextContent

# Longer texts of an agent are cut in the middle, as the contract does; a user's text never is.
MAX_TEXT_CHARS = 64 * 1024

_HEAD_CHARS, _TAIL_CHARS = 48 * 1024, 12 * 1024


def get_position(message: SessionMessage) -> int:
    """Return the time by which clients place a message: when the agent took it, else its own."""
    return message.created_at if message.invoked_at is None else message.invoked_at


def is_queued(message: SessionMessage) -> bool:
    """Return whether a user's message still waits for the agent."""
    return is_from_user(message) and message.invoked_at is None


def is_from_user(message: SessionMessage) -> bool:
    """Return whether a person said it; results of tools have the role of a user, too."""
    blocks = message.message.content
    return message.message.role == chat.ROLE_USER and all(
        isinstance(block, TextContent) for block in blocks
    )


def render_message(message: SessionMessage) -> JsonObject:
    """Return a message as clients read it; ``invokedAt`` is null while it waits.

    Clients find a message that waits by its localId; without one it counts as taken.
    """
    waits = is_queued(message) and bool(message.local_id)
    return {
        "id": message.id,
        "seq": message.seq,
        "localId": message.local_id or None,
        "content": render_content(message),
        "createdAt": message.created_at,
        "invokedAt": None if waits else get_position(message),
    }


def render_content(message: SessionMessage) -> JsonObject:
    """Return the envelope of a message."""
    said = message.message
    meta = {"sentFrom": message.actor.device, **said.meta}
    if is_from_user(message):
        content: JsonObject = {"type": "text", "text": _join_texts(said)}
        return {"role": chat.ROLE_USER, "content": content, "meta": meta}
    if META_NOTICE in said.meta:
        event = {"type": "message", "message": _join_texts(said)}
        content = {"type": "event", "data": event}
        return {"role": chat.ROLE_AGENT, "content": content, "meta": meta}
    envelope = wrap_in_envelope(said)
    envelope["content"]["data"]["uuid"] = message.id
    shortened: JsonObject = shorten_texts(envelope)
    return {**shortened, "meta": meta}


def _join_texts(message: AgentMessage) -> str:
    return "\n".join(block.text for block in message.content if isinstance(block, TextContent))


def shorten_texts(value: Any) -> Any:
    """Return a JSON value with its long texts cut in the middle."""
    match value:
        case str() if len(value) > MAX_TEXT_CHARS:
            left_out = len(value) - _HEAD_CHARS - _TAIL_CHARS
            mark = f"\n…[hapi: truncated {left_out} chars]…\n"
            return f"{value[:_HEAD_CHARS]}{mark}{value[-_TAIL_CHARS:]}"
        case dict():
            return {key: shorten_texts(each) for key, each in value.items()}
        case list():
            return [shorten_texts(each) for each in value]
        case _:
            return value
