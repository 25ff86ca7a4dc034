"""What happens while an agent works, in order: every door tells its client from these alone.

A text or a thought comes in parts, as the model writes it. A call is followed by its return before
the next call. The last event is Finished or Failed, and there is only one of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernel.agent.tool import Outcome
from kernel.errors import KernelError


@dataclass(frozen=True, slots=True)
class RoundBegun:
    """The model is asked for the ``number``-th time, counted from 1."""

    number: int


@dataclass(frozen=True, slots=True)
class TextPart:
    """The next words of the model."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingPart:
    """The next words of what the model thinks to itself."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """The model wants a tool; ``arguments`` is empty where it wrote no JSON object."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """What came of the call of this id."""

    id: str
    name: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Reminded:
    """The model was told to go on, in these words."""

    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The agent is done; ``text`` is its whole last answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The agent could not go on; the message is for a person, the code one of ``errors.py``."""

    message: str
    code: str = KernelError.code


AgentEvent = (
    RoundBegun | TextPart | ThinkingPart | ToolCalled | ToolReturned | Reminded | Finished | Failed
)
