"""Content blocks: what a message consists of, as values and as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernel.errors import WrongParam

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
    """What came of it."""

    tool_use_id: str
    content: str | tuple[Text, ...]
    is_error: bool = False

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
        return {
            "type": "tool_result",
            "tool_use_id": self.tool_use_id,
            "content": content,
            **failed,
        }


@dataclass(frozen=True, slots=True)
class Redacted:
    """What the provider keeps to itself, passed on unread."""

    data: str

    def as_json(self) -> Json:
        """As the protocol writes it."""
        return {"type": "redacted", "data": self.data}


ContentBlock = Text | Thinking | ToolUse | ToolResult | Redacted


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
