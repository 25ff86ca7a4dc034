"""What happens in a turn, in order: the screen, the journal and the history all follow from it."""

from dataclasses import dataclass

from kernel.domain.turn import NOTHING_SPENT, Asking, Citation, Excerpt, Outcome, Spent


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
    """The turn is over and its history in place."""

    outcome: Outcome
    citations: tuple[Citation, ...] = ()
    masked: int = 0
    spent: Spent = NOTHING_SPENT


# The following are never shown; the journal keeps them so that usage survives a crash.


@dataclass(frozen=True, slots=True)
class Sent:
    """A request went to the model; ``text`` is all it was given to read."""

    text: str


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
TurnEvent = Shown | Hidden
