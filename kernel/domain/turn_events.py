"""What happens in a turn, in order: the screen, the journal and the history all follow from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernel.domain.agent_message import AgentMessage
from kernel.domain.turn import (
    NOTHING_SPENT,
    Asking,
    Citation,
    Excerpt,
    FileChange,
    Outcome,
    Spent,
    Worked,
)


@dataclass(frozen=True, slots=True)
class Begun:
    """The question was accepted."""

    asking: Asking


@dataclass(frozen=True, slots=True)
class Annotated:
    """A round of retrieval begins; the purpose is for a person."""

    purpose: str


@dataclass(frozen=True, slots=True)
class Searched:
    """The round looks for this."""

    query: str


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The round found this."""

    excerpt: Excerpt


@dataclass(frozen=True, slots=True)
class RetrievalDone:
    """The round is over."""


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """The next words of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Failed:
    """Something went wrong, said to a person; the turn ends."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Done:
    """The turn is over and its history in place; ``unsaved`` says why it is in memory alone."""

    outcome: Outcome
    citations: tuple[Citation, ...] = ()
    masked: int = 0
    spent: Spent = NOTHING_SPENT
    worked: Worked | None = None
    unsaved: str = ""


# The turn of an agent consists of the following steps; a person is shown them as messages.


@dataclass(frozen=True, slots=True)
class SaidPart:
    """The next words of the agent."""

    text: str


@dataclass(frozen=True, slots=True)
class ThoughtPart:
    """The next words of what it thinks to itself."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolUsed:
    """It uses a tool."""

    id: str
    name: str
    input: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolDone:
    """What came of the use of this id; ``diff`` if a file was changed by it."""

    id: str
    text: str
    success: bool
    diff: str = ""


@dataclass(frozen=True, slots=True)
class Reminded:
    """It was told to go on, in these words."""

    text: str


@dataclass(frozen=True, slots=True)
class Changed:
    """It has changed a file."""

    change: FileChange


# And these are shown, and not kept: what they say is in the steps.


@dataclass(frozen=True, slots=True)
class MessageTold:
    """A message of the agent's, which may still grow, or what its tool answered."""

    message: AgentMessage


@dataclass(frozen=True, slots=True)
class PermissionAsked:
    """The tool waits until a person has said whether it may; ``danger`` is what it does."""

    tool_use_id: str
    tool: str
    danger: str
    input: Mapping[str, Any] = field(default_factory=dict)


# The following are never shown; the journal keeps them so that usage survives a crash.


@dataclass(frozen=True, slots=True)
class Sent:
    """A request went to the model; ``text`` is all it was given to read.

    ``known``: besides so many tokens, of which the request before this one consisted.
    """

    text: str
    known: int = 0


@dataclass(frozen=True, slots=True)
class Received:
    """The model wrote this, answer or not."""

    text: str


@dataclass(frozen=True, slots=True)
class Counted:
    """What the last request cost."""

    spent: Spent


Told = Annotated | Searched | Retrieved | RetrievalDone | AnswerPart | Done
Shown = Told | Failed
Hidden = Begun | Sent | Received | Counted
AgentStep = SaidPart | ThoughtPart | ToolUsed | ToolDone | Reminded
# What a turn is put together from, in its journal as on the screen.
TurnEvent = Shown | Hidden | AgentStep | Changed
Fleeting = MessageTold | PermissionAsked
AgentShown = Fleeting | Failed | Done
