"""What is said to a language model and what comes back from it, whoever serves the model."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from kernel.domain.cancel import CancelToken


class Role(StrEnum):
    """Who says something."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model wants a tool used; ``arguments`` is its JSON text, which may be broken."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message; ``tool_call_id`` says which call a TOOL message answers."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool the model may call; ``parameters`` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What a model is asked; ``max_tokens`` bounds the answer alone."""

    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next words of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """The next words of the model's thinking, which are no part of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """The tools the model wants used, all of one answer at once, after its text."""

    calls: tuple[ToolCall, ...]


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
class Finished:
    """Why the model ended: stop, length, tool_calls, or the provider's own word."""

    reason: str


ChatEvent = TextDelta | ReasoningDelta | ToolCalls | Finished | TokensUsed


class ChatBackend(Protocol):
    """A model that can be talked to; safe to use from several threads at once."""

    @property
    def model_name(self) -> str:
        """The name that usage is recorded under."""

    @property
    def calls_tools(self) -> bool:
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
