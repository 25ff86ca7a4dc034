"""Messages of the protocol as others write them: lines of ours, and values of theirs, checked."""

import json

from kernel.domain.agent_message import ROLES, AgentMessage
from kernel.domain.content_blocks import (
    ContentBlock,
    Json,
    Redacted,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from kernel.domain.terminal_text import escape_controls_in_json
from kernel.errors import WrongParam


def as_line(message: AgentMessage) -> bytes:
    """One line of UTF-8; C1 controls and what is no Unicode are escaped."""
    text = json.dumps(message.as_json(), ensure_ascii=False)
    return escape_controls_in_json(text).encode() + b"\n"


def message_of(value: object) -> AgentMessage:
    """A message that somebody sent, its content a list of blocks or a mere text.

    Raises WrongParam. Blocks of a type that nobody knows are left out.
    """
    if not isinstance(value, dict):
        raise WrongParam("A message must be a JSON object.")
    role, meta = value.get("role"), value.get("meta")
    if role not in ROLES:
        raise WrongParam(f"`role` must be one of {', '.join(ROLES)}.")
    return AgentMessage(
        str(role), content_of(value.get("content")), meta if isinstance(meta, dict) else {}
    )


def content_of(content: object) -> tuple[ContentBlock, ...]:
    """The blocks of a content; raises WrongParam."""
    if isinstance(content, str):
        return (Text(content),)
    if not isinstance(content, list):
        raise WrongParam("`content` must be a list of blocks, or a text.")
    blocks = map(block_of, content)
    return tuple(block for block in blocks if block is not None)


def block_of(value: object) -> ContentBlock | None:
    """A block that somebody sent; None for a type of which nothing is known.

    Raises WrongParam for a known type whose fields are not what they must be.
    """
    if not isinstance(value, dict):
        raise WrongParam("A content block must be a JSON object.")
    match value.get("type"):
        case "text":
            return Text(_text(value, "text"))
        case "thinking":
            signature = value.get("signature")
            return Thinking(
                _text(value, "thinking"), signature if isinstance(signature, str) else None
            )
        case "tool_use":
            given = value.get("input", {})
            if not isinstance(given, dict):
                raise WrongParam("`input` of a tool_use must be an object.")
            return ToolUse(_text(value, "id"), _text(value, "name"), given)
        case "tool_result":
            failed = value.get("is_error") is True
            return ToolResult(
                _text(value, "tool_use_id"), _result(value.get("content", "")), failed
            )
        case "redacted":
            return Redacted(_text(value, "data"))
        case _:
            return None


def _result(content: object) -> str | tuple[Text, ...]:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise WrongParam("`content` of a tool_result must be a text or a list of text blocks.")
    blocks = map(block_of, content)
    return tuple(block for block in blocks if isinstance(block, Text))


def _text(value: Json, name: str) -> str:
    text = value.get(name)
    if not isinstance(text, str):
        raise WrongParam(f"`{name}` of a {value['type']} block is missing or not a text.")
    return text
