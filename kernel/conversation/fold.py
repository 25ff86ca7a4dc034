"""A turn's events folded into the turn: the one place that says what was shown.

The history file, the recovery after a crash and whoever shows a turn again use this same fold.
"""

from dataclasses import dataclass, field

from kernel.conversation.agent_fold import AgentFold
from kernel.domain.turn import Asking, Citation, Excerpt, Outcome, Retrieval, Spent, Turn
from kernel.domain.turn_events import (
    Annotated,
    AnswerPart,
    Begun,
    Counted,
    Done,
    Failed,
    Received,
    Retrieved,
    Searched,
    Sent,
    TurnEvent,
)


@dataclass(slots=True)
class _Round:
    annotation: str
    searches: list[str] = field(default_factory=list)
    results: list[Excerpt] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Uncounted:
    """A request whose cost nobody told: what was sent and what came back of it.

    ``known`` tokens were sent besides.
    """

    sent: str
    received: str
    known: int = 0


class TurnFold:
    """Takes events one by one; at any moment ``turn`` is what was shown so far."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._rounds: list[_Round] = []
        self._answer: list[str] = []
        self._error = ""
        self._outcome = Outcome.INTERRUPTED
        self._citations: tuple[Citation, ...] = ()
        self._masked = 0
        self._spent = Spent()
        self._sent: Sent | None = None
        self._received: list[str] = []
        self._agent = AgentFold()

    def add(self, event: TurnEvent) -> None:
        """Take the next event."""
        match event:
            case Annotated(purpose):
                self._rounds.append(_Round(purpose))
            case Searched(query):
                self._round().searches.append(query)
            case Retrieved(excerpt):
                self._round().results.append(excerpt)
            case AnswerPart(text):
                self._answer.append(text)
            case Failed(_, message):
                self._error, self._outcome = message, Outcome.FAILED
            case Done(outcome, citations, masked, spent):
                self._outcome, self._citations = outcome, citations
                self._masked, self._spent = masked, spent
            case _:
                self._account(event)

    @property
    def asking(self) -> Asking:
        """What was asked."""
        return self._asking

    @property
    def answer(self) -> str:
        """What was answered so far."""
        return "".join(self._answer) or self._agent.answer

    @property
    def results(self) -> list[Excerpt]:
        """Everything retrieved so far."""
        return [excerpt for one in self._rounds for excerpt in one.results]

    @property
    def spent(self) -> Spent:
        """What the requests cost whose cost is known."""
        return self._spent

    @property
    def uncounted(self) -> Uncounted | None:
        """The request under way, if its cost is not known yet."""
        if self._sent is None:
            return None
        return Uncounted(self._sent.text, "".join(self._received), self._sent.known)

    def turn(self) -> Turn:
        """What was shown so far."""
        return Turn(
            asking=self._asking,
            retrieval=tuple(
                Retrieval(one.annotation, tuple(one.searches), tuple(one.results))
                for one in self._rounds
            ),
            answer=self.answer,
            outcome=self._outcome,
            error=self._error,
            citations=self._citations,
            masked=self._masked,
            spent=self._spent,
            messages=self._agent.messages,
            changes=tuple(self._agent.changes),
        )

    @property
    def agent(self) -> AgentFold:
        """What an agent has said and done so far."""
        return self._agent

    def _round(self) -> _Round:
        if not self._rounds:
            self._rounds.append(_Round(""))
        return self._rounds[-1]

    def _account(self, event: TurnEvent) -> None:
        match event:
            case Sent():
                self._sent = event
                self._received.clear()
            case Received(text):
                self._received.append(text)
            case Counted(spent):
                self._spent += spent
                self._sent = None
                self._received.clear()
            case _:
                self._agent.add(event)


def folded(events: list[TurnEvent]) -> TurnFold | None:
    """The fold of a journal; None if it does not say what was asked."""
    if not events or not isinstance(events[0], Begun):
        return None
    fold = TurnFold(events[0].asking)
    for event in events[1:]:
        fold.add(event)
    return fold
