"""Messages: requests to a chat model and the events of its stream.

Agent messages made of content blocks, and their parser.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from codekernel.domain.concurrency import CancelToken
from codekernel.errors import WrongParam


class Role(StrEnum):
    """Who says something."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class ChatToolCall:
    """The model wants a tool used; ``arguments`` is its JSON text, which may be broken."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message; ``tool_call_id`` says which call a TOOL message answers."""

    role: Role
    content: str
    tool_calls: tuple[ChatToolCall, ...] = ()
    tool_call_id: str = ""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool the model may call; ``parameters`` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What a model is asked, and the tools that it may call."""

    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next words of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """The next words of the model's thinking, which are no part of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ChatToolCalls:
    """The tools the model wants used, all of one answer at once, after its text."""

    calls: tuple[ChatToolCall, ...]


@dataclass(frozen=True, slots=True)
class TokensUsed:
    """What the exchange cost; ``exact`` if the provider counted, else our tokenizer did.

    Comes exactly once for a request that reached the model, last of all, and also before the error
    of a stream that was stopped or broke off.
    """

    input_tokens: int
    output_tokens: int
    exact: bool


@dataclass(frozen=True, slots=True)
class ChatFinished:
    """Why the model ended: stop, length, tool_calls, or the provider's own word."""

    reason: str


ChatEvent = TextDelta | ReasoningDelta | ChatToolCalls | ChatFinished | TokensUsed


class ChatBackend(Protocol):
    """A model that can be talked to; safe to use from several threads at once."""

    @property
    def model_name(self) -> str:
        """The name that usage is recorded under."""

    @property
    def supports_tools(self) -> bool:
        """Whether tools may be given; turns false once the endpoint has refused them."""

    @property
    def context_tokens(self) -> int | None:
        """How much the model can read and write at once, if that is known."""

    def stream(self, request: ChatRequest, cancel: CancelToken) -> Iterator[ChatEvent]:
        """Answer piece by piece.

        Raises NetworkError with a sentence for a person, or its subclasses ToolsRefused and
        ContextTooLong, which the caller can mend; Cancelled within 200 ms of a cancel.
        """

    def count_tokens(self, text: str) -> int:
        """Tokens of a text: exactly for a local model, else by a tokenizer of the same kind."""

    def close(self) -> None:
        """Give back connections or memory."""


JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TextContent:
    """What is said."""

    text: str

    def to_json(self) -> JsonObject:
        """As the protocol writes it."""
        return {"type": "text", "text": self.text}


@dataclass(frozen=True, slots=True)
class ThinkingContent:
    """What the agent thinks to itself; ``signature`` is its provider's, passed on."""

    thinking: str
    signature: str | None = None

    def to_json(self) -> JsonObject:
        """As the protocol writes it."""
        signed = {} if self.signature is None else {"signature": self.signature}
        return {"type": "thinking", "thinking": self.thinking, **signed}


@dataclass(frozen=True, slots=True)
class ToolUseContent:
    """A tool is being used, until a result with the same id comes."""

    id: str
    name: str
    input: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> JsonObject:
        """As the protocol writes it."""
        return {"type": "tool_use", "id": self.id, "name": self.name, "input": dict(self.input)}


@dataclass(frozen=True, slots=True)
class ToolResultContent:
    """What came of it; ``diff`` and ``denied`` are additions, for whoever shows them."""

    tool_use_id: str
    content: str | tuple[TextContent, ...]
    is_error: bool = False
    diff: str = ""
    denied: bool = False

    @property
    def text(self) -> str:
        """The content as one text."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(block.text for block in self.content)

    def to_json(self) -> JsonObject:
        """As the protocol writes it; without ``is_error`` it went well."""
        told = self.content
        content = told if isinstance(told, str) else [block.to_json() for block in told]
        failed = {"is_error": True} if self.is_error else {}
        changed = {"diff": self.diff} if self.diff else {}
        denied = {"denied": True} if self.denied else {}
        required = {"type": "tool_result", "tool_use_id": self.tool_use_id, "content": content}
        return {**required, **failed, **changed, **denied}


@dataclass(frozen=True, slots=True)
class RedactedContent:
    """What the provider keeps to itself, passed on unread."""

    data: str

    def to_json(self) -> JsonObject:
        """As the protocol writes it."""
        return {"type": "redacted", "data": self.data}


ContentBlock = TextContent | ThinkingContent | ToolUseContent | ToolResultContent | RedactedContent

ROLE_USER, ROLE_ASSISTANT, ROLE_AGENT = "user", "assistant", "agent"

AGENT_MESSAGE_ROLES = (ROLE_USER, ROLE_ASSISTANT, ROLE_AGENT)


@dataclass(frozen=True, slots=True)
class AgentMessage:
    """``meta`` is left out of the JSON where it is empty."""

    role: str
    content: tuple[ContentBlock, ...]
    meta: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> JsonObject:
        """As the protocol writes it."""
        content = [block.to_json() for block in self.content]
        meta = {"meta": dict(self.meta)} if self.meta else {}
        return {"role": self.role, "content": content, **meta}


def parse_message(value: object) -> AgentMessage:
    """Parse a message whose content is a list of blocks or a text. Raises WrongParam.

    Blocks of unknown types are left out.
    """
    if not isinstance(value, dict):
        raise WrongParam("A message must be a JSON object.")
    role, meta = value.get("role"), value.get("meta")
    if role not in AGENT_MESSAGE_ROLES:
        raise WrongParam(f"`role` must be one of {', '.join(AGENT_MESSAGE_ROLES)}.")
    return AgentMessage(
        str(role), parse_content(value.get("content")), meta if isinstance(meta, dict) else {}
    )


def parse_content(content: object) -> tuple[ContentBlock, ...]:
    """Parse the blocks of a content. Raises WrongParam."""
    if isinstance(content, str):
        return (TextContent(content),)
    if not isinstance(content, list):
        raise WrongParam("`content` must be a list of blocks, or a text.")
    blocks = map(parse_block, content)
    return tuple(block for block in blocks if block is not None)


def parse_block(value: object) -> ContentBlock | None:
    """Parse a block; None for an unknown type.

    Raises WrongParam for a known type with wrong fields.
    """
    if not isinstance(value, dict):
        raise WrongParam("A content block must be a JSON object.")
    match value.get("type"):
        case "text":
            return TextContent(_require_text(value, "text"))
        case "thinking":
            signature = value.get("signature")
            return ThinkingContent(
                _require_text(value, "thinking"), signature if isinstance(signature, str) else None
            )
        case "tool_use":
            given = value.get("input", {})
            if not isinstance(given, dict):
                raise WrongParam("`input` of a tool_use must be an object.")
            return ToolUseContent(_require_text(value, "id"), _require_text(value, "name"), given)
        case "tool_result":
            failed, diff = value.get("is_error") is True, value.get("diff")
            return ToolResultContent(
                _require_text(value, "tool_use_id"),
                _parse_result(value.get("content", "")),
                failed,
                diff if isinstance(diff, str) else "",
                value.get("denied") is True,
            )
        case "redacted":
            return RedactedContent(_require_text(value, "data"))
        case _:
            return None


def _parse_result(content: object) -> str | tuple[TextContent, ...]:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise WrongParam("`content` of a tool_result must be a text or a list of text blocks.")
    blocks = map(parse_block, content)
    return tuple(block for block in blocks if isinstance(block, TextContent))


def _require_text(value: JsonObject, name: str) -> str:
    text = value.get(name)
    if not isinstance(text, str):
        raise WrongParam(f"`{name}` of a {value['type']} block is missing or not a text.")
    return text
