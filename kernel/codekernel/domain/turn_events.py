"""Events of a turn, in order: journal, history and screen are built from them.

The builder that turns an agent's events into messages.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from codekernel.domain import chat, turn


@dataclass(frozen=True, slots=True)
class TurnBegun:
    """The question was accepted."""

    asking: turn.TurnRequest


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

    excerpt: turn.Excerpt


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

    outcome: turn.TurnOutcome
    citations: tuple[turn.Citation, ...] = ()
    masked: int = 0
    spent: turn.TokenUsage = turn.NO_TOKEN_USAGE
    worked: turn.AgentTurnSummary | None = None
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
    """What came of the use of this id; ``diff`` if a file was changed by it.

    ``denied``: it failed because it was not allowed.
    """

    id: str
    text: str
    success: bool
    diff: str = ""
    denied: bool = False


@dataclass(frozen=True, slots=True)
class TurnReminded:
    """It was told to go on, in these words."""

    text: str


@dataclass(frozen=True, slots=True)
class FileChanged:
    """It has changed a file."""

    change: turn.FileChange


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
class AgentCallsQueued:
    """The same answer of the model uses these tools, too, one after another."""

    calls: tuple[AgentToolUsed, ...]


@dataclass(frozen=True, slots=True)
class AgentFinished:
    """The agent is done; ``text`` is its whole last answer."""

    text: str


# And these are shown, and not kept: what they say is in the steps.


@dataclass(frozen=True, slots=True)
class AgentSessionOpened:
    """The session that the agent works in; ``unknown_tools`` were asked for and do not exist."""

    session: str
    unknown_tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentMessageShown:
    """A message of the agent's, which may still grow, or what its tool answered."""

    message: chat.AgentMessage


@dataclass(frozen=True, slots=True)
class AgentToolDataShown:
    """What the tool of this id has for programs; its result follows."""

    tool_use_id: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PermissionRequested:
    """The tool waits until a person has said whether it may; ``danger`` is what it does.

    ``diff`` is the edit that waits; ``rule`` is what a rule would allow from now on, empty for
    none.
    """

    tool_use_id: str
    tool: str
    danger: str
    input: Mapping[str, Any] = field(default_factory=dict)
    diff: str = ""
    rule: str = ""


@dataclass(frozen=True, slots=True)
class PermissionSettled:
    """The tool waits no longer; ``device`` and ``name`` of who answered, empty if nobody did."""

    tool_use_id: str
    allowed: bool
    device: str = ""
    name: str = ""


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

    spent: turn.TokenUsage


ReplyEvent = (
    RetrievalAnnotated | SearchIssued | ExcerptRetrieved | RetrievalDone | AnswerDelta | TurnDone
)

ShownEvent = ReplyEvent | TurnFailed

HiddenEvent = TurnBegun | ModelRequestSent | ModelTextReceived | TokensCounted

AgentStep = AgentTextDelta | AgentThinkingDelta | AgentToolUsed | AgentToolDone | TurnReminded

# What a turn is put together from, in its journal as on the screen.
TurnEvent = ShownEvent | HiddenEvent | AgentStep | FileChanged

# What the loop yields; the last event of an agent is AgentFinished or TurnFailed.
LoopEvent = TurnEvent | RoundStarted | AgentCallsQueued | AgentFinished

TransientEvent = (
    AgentMessageShown
    | PermissionRequested
    | PermissionSettled
    | AgentSessionOpened
    | RoundStarted
    | AgentCallsQueued
    | AgentToolDataShown
)


class AgentMessageBuilder:
    """Takes steps one by one; nothing of a message is read again when it grows."""

    def __init__(self) -> None:
        self._blocks: list[chat.ContentBlock] = []
        # The block that grows is not among them.
        self._kind: type[chat.TextContent | chat.ThinkingContent] = chat.TextContent
        self._parts: list[str] = []
        self.char_count = 0  # of the message that grows

    @property
    def has_text(self) -> bool:
        """Whether the message that grows says something."""
        grows = bool(self._parts) and self._kind is chat.TextContent
        return grows or any(isinstance(block, chat.TextContent) for block in self._blocks)

    def add(self, step: AgentStep) -> Iterator[chat.AgentMessage]:
        """Take the next step; the messages that are whole now."""
        match step:
            case AgentTextDelta(text):
                self._append_text(text, chat.TextContent)
            case AgentThinkingDelta(text):
                self._append_text(text, chat.ThinkingContent)
            case AgentToolUsed(name, tool, given):
                self._close_block()
                self._blocks.append(chat.ToolUseContent(name, tool, given))
                yield from self.finish()
            case AgentToolDone(name, text, success, diff, denied):
                yield from self.finish()
                result = chat.ToolResultContent(name, text, not success, diff, denied)
                yield chat.AgentMessage(chat.ROLE_USER, (result,))
            case TurnReminded(text):
                yield from self.finish()
                yield chat.AgentMessage(chat.ROLE_USER, (chat.TextContent(text),))

    def build_partial(self) -> chat.AgentMessage | None:
        """The message that is not whole yet, if there is anything in it."""
        growing: list[chat.ContentBlock] = []
        if self._parts:
            self._parts = ["".join(self._parts)]
            growing.append(self._kind(*self._parts))
        blocks = tuple(block for block in self._blocks + growing if not _is_blank_text(block))
        return chat.AgentMessage(chat.ROLE_ASSISTANT, blocks) if blocks else None

    def finish(self) -> Iterator[chat.AgentMessage]:
        """Nothing more is added to the message that grows."""
        message = self.build_partial()
        self._blocks.clear()
        self._parts.clear()
        self.char_count = 0
        if message:
            yield message

    def _append_text(self, text: str, kind: type[chat.TextContent | chat.ThinkingContent]) -> None:
        if kind is not self._kind:
            self._close_block()
            self._kind = kind
        self._parts.append(text)
        self.char_count += len(text)

    def _close_block(self) -> None:
        if self._parts:
            self._blocks.append(self._kind("".join(self._parts)))
            self._parts.clear()


def _is_blank_text(block: chat.ContentBlock) -> bool:
    return isinstance(block, chat.TextContent) and not block.text.strip()
