"""Events of a turn, in order: journal, history and screen are built from them.

The builder that turns an agent's events into messages.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from codekernel.domain.chat import (
    ROLE_ASSISTANT,
    ROLE_USER,
    AgentMessage,
    ContentBlock,
    TextContent,
    ThinkingContent,
    ToolResultContent,
    ToolUseContent,
)
from codekernel.domain.turn import (
    NO_TOKEN_USAGE,
    AgentTurnSummary,
    Citation,
    Excerpt,
    FileChange,
    TokenUsage,
    TurnOutcome,
    TurnRequest,
)


@dataclass(frozen=True, slots=True)
class TurnBegun:
    """The question was accepted."""

    asking: TurnRequest


@dataclass(frozen=True, slots=True)
class RetrievalAnnotated:
    """A round of retrieval begins; the purpose is for a person."""

    purpose: str


@dataclass(frozen=True, slots=True)
class SearchIssued:
    """The round looks for this."""

    query: str


@dataclass(frozen=True, slots=True)
class ExcerptRetrieved:
    """The round found this."""

    excerpt: Excerpt


@dataclass(frozen=True, slots=True)
class RetrievalDone:
    """The round is over."""


@dataclass(frozen=True, slots=True)
class AnswerDelta:
    """The next words of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """Something went wrong, said to a person; the turn ends."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class TurnDone:
    """The turn is over and its history in place; ``unsaved`` says why it is in memory alone."""

    outcome: TurnOutcome
    citations: tuple[Citation, ...] = ()
    masked: int = 0
    spent: TokenUsage = NO_TOKEN_USAGE
    worked: AgentTurnSummary | None = None
    unsaved: str = ""


# The turn of an agent consists of the following steps; a person is shown them as messages.


@dataclass(frozen=True, slots=True)
class AgentTextDelta:
    """The next words of the agent."""

    text: str


@dataclass(frozen=True, slots=True)
class AgentThinkingDelta:
    """The next words of what it thinks to itself."""

    text: str


@dataclass(frozen=True, slots=True)
class AgentToolUsed:
    """It uses a tool."""

    id: str
    name: str
    input: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AgentToolDone:
    """What came of the use of this id; ``diff`` if a file was changed by it."""

    id: str
    text: str
    success: bool
    diff: str = ""


@dataclass(frozen=True, slots=True)
class TurnReminded:
    """It was told to go on, in these words."""

    text: str


@dataclass(frozen=True, slots=True)
class FileChanged:
    """It has changed a file."""

    change: FileChange


# The following are read by adapters of an agent, and not kept.


@dataclass(frozen=True, slots=True)
class RoundStarted:
    """The agent's model is called for the ``number``-th time, counted from 1."""

    number: int


@dataclass(frozen=True, slots=True)
class AgentToolReturned(AgentToolDone):
    """The whole result, with the name of the tool and its data for programs."""

    name: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AgentFinished:
    """The agent is done; ``text`` is its whole last answer."""

    text: str


# And these are shown, and not kept: what they say is in the steps.


@dataclass(frozen=True, slots=True)
class AgentMessageShown:
    """A message of the agent's, which may still grow, or what its tool answered."""

    message: AgentMessage


@dataclass(frozen=True, slots=True)
class PermissionRequested:
    """The tool waits until a person has said whether it may; ``danger`` is what it does."""

    tool_use_id: str
    tool: str
    danger: str
    input: Mapping[str, Any] = field(default_factory=dict)


# The following are never shown; the journal keeps them so that usage survives a crash.


@dataclass(frozen=True, slots=True)
class ModelRequestSent:
    """A request went to the model; ``text`` is all it was given to read.

    ``known``: besides so many tokens, of which the request before this one consisted.
    """

    text: str
    known: int = 0


@dataclass(frozen=True, slots=True)
class ModelTextReceived:
    """The model wrote this, answer or not."""

    text: str


@dataclass(frozen=True, slots=True)
class TokensCounted:
    """What the last request cost."""

    spent: TokenUsage


ReplyEvent = (
    RetrievalAnnotated | SearchIssued | ExcerptRetrieved | RetrievalDone | AnswerDelta | TurnDone
)

ShownEvent = ReplyEvent | TurnFailed

HiddenEvent = TurnBegun | ModelRequestSent | ModelTextReceived | TokensCounted

AgentStep = AgentTextDelta | AgentThinkingDelta | AgentToolUsed | AgentToolDone | TurnReminded

# What a turn is put together from, in its journal as on the screen.
TurnEvent = ShownEvent | HiddenEvent | AgentStep | FileChanged

# What the loop yields; the last event of an agent is AgentFinished or TurnFailed.
LoopEvent = TurnEvent | RoundStarted | AgentFinished

TransientEvent = AgentMessageShown | PermissionRequested

AgentShown = TransientEvent | TurnFailed | TurnDone


class AgentMessageBuilder:
    """Takes steps one by one; nothing of a message is read again when it grows."""

    def __init__(self) -> None:
        self._blocks: list[ContentBlock] = []
        self._text_parts: list[str] = []  # of the last block, which may have many parts
        self.char_count = 0  # of the message that grows

    @property
    def has_text(self) -> bool:
        """Whether the message that grows says something."""
        return any(isinstance(block, TextContent) for block in self._blocks)

    def add(self, step: AgentStep) -> Iterator[AgentMessage]:
        """Take the next step; the messages that are whole now."""
        match step:
            case AgentTextDelta(text):
                self._append_text(text, TextContent)
            case AgentThinkingDelta(text):
                self._append_text(text, ThinkingContent)
            case AgentToolUsed(name, tool, given):
                self._close_block()
                self._blocks.append(ToolUseContent(name, tool, given))
                yield from self.finish()
            case AgentToolDone(name, text, success, diff):
                yield from self.finish()
                result = ToolResultContent(name, text, is_error=not success, diff=diff)
                yield AgentMessage(ROLE_USER, (result,))
            case TurnReminded(text):
                yield from self.finish()
                yield AgentMessage(ROLE_USER, (TextContent(text),))

    def build_partial(self) -> AgentMessage | None:
        """The message that is not whole yet, if there is anything in it."""
        self._close_block()
        blocks = tuple(block for block in self._blocks if not _is_blank_text(block))
        return AgentMessage(ROLE_ASSISTANT, blocks) if blocks else None

    def finish(self) -> Iterator[AgentMessage]:
        """Nothing more is added to the message that grows."""
        message = self.build_partial()
        self._blocks.clear()
        self.char_count = 0
        if message:
            yield message

    def _append_text(self, text: str, kind: type[TextContent | ThinkingContent]) -> None:
        if not self._blocks or type(self._blocks[-1]) is not kind:
            self._close_block()
            self._blocks.append(kind(""))
        self._text_parts.append(text)
        self.char_count += len(text)

    def _close_block(self) -> None:
        """Give the last block all its words."""
        if not self._text_parts:
            return
        words, last = "".join(self._text_parts), self._blocks[-1]
        if isinstance(last, TextContent):
            self._blocks[-1] = TextContent(last.text + words)
        elif isinstance(last, ThinkingContent):
            self._blocks[-1] = replace(last, thinking=last.thinking + words)
        self._text_parts.clear()


def _is_blank_text(block: ContentBlock) -> bool:
    return isinstance(block, TextContent) and not block.text.strip()
