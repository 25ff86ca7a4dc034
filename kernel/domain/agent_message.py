"""What an agent or its person says (document 004): who says it, and its blocks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernel.domain.content_blocks import ContentBlock, Json

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
