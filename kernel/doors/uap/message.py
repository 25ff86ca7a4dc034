"""A message of the protocol: who says it, and its blocks."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernel.doors.uap.blocks import ContentBlock, Json, Text, block_of
from kernel.errors import WrongParam

USER, ASSISTANT, AGENT = "user", "assistant", "agent"
ROLES = (USER, ASSISTANT, AGENT)


@dataclass(frozen=True, slots=True)
class AgentMessage:
    """``meta`` is left out of the JSON where it is empty."""

    role: str
    content: tuple[ContentBlock, ...]
    meta: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> Json:
        """As the protocol writes it."""
        told: Json = {"role": self.role, "content": [block.as_json() for block in self.content]}
        return {**told, "meta": dict(self.meta)} if self.meta else told


def as_line(message: AgentMessage) -> bytes:
    """One line of UTF-8."""
    text = json.dumps(message.as_json(), ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace") + b"\n"


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
