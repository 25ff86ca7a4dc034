"""Content blocks: what a message consists of, as values and as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Text:
    """What is said."""

    text: str

    def as_json(self) -> Json:
        """As the protocol writes it."""
        return {"type": "text", "text": self.text}


@dataclass(frozen=True, slots=True)
class Thinking:
    """What the agent thinks to itself; ``signature`` is its provider's, passed on."""

    thinking: str
    signature: str | None = None

    def as_json(self) -> Json:
        """As the protocol writes it."""
        signed = {} if self.signature is None else {"signature": self.signature}
        return {"type": "thinking", "thinking": self.thinking, **signed}


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool is being used, until a result with the same id comes."""

    id: str
    name: str
    input: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> Json:
        """As the protocol writes it."""
        return {"type": "tool_use", "id": self.id, "name": self.name, "input": dict(self.input)}


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of it; ``diff`` is an addition, for whoever shows what a file was changed to."""

    tool_use_id: str
    content: str | tuple[Text, ...]
    is_error: bool = False
    diff: str = ""

    @property
    def text(self) -> str:
        """The content as one text."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(block.text for block in self.content)

    def as_json(self) -> Json:
        """As the protocol writes it; without ``is_error`` it went well."""
        told = self.content
        content = told if isinstance(told, str) else [block.as_json() for block in told]
        failed = {"is_error": True} if self.is_error else {}
        changed = {"diff": self.diff} if self.diff else {}
        return {
            "type": "tool_result",
            "tool_use_id": self.tool_use_id,
            "content": content,
            **failed,
            **changed,
        }


@dataclass(frozen=True, slots=True)
class Redacted:
    """What the provider keeps to itself, passed on unread."""

    data: str

    def as_json(self) -> Json:
        """As the protocol writes it."""
        return {"type": "redacted", "data": self.data}


ContentBlock = Text | Thinking | ToolUse | ToolResult | Redacted
