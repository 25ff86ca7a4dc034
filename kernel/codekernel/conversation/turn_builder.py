"""Build a turn from its events.

The history file, the recovery of a journal after a crash, and every view of a turn use this one
reducer.
"""

from dataclasses import dataclass, field

from codekernel.domain.chat import ROLE_ASSISTANT, AgentMessage, TextContent
from codekernel.domain.turn import (
    Citation,
    Excerpt,
    FileChange,
    RetrievalRound,
    TokenUsage,
    Turn,
    TurnOutcome,
    TurnRequest,
)
from codekernel.domain.turn_events import (
    AgentMessageBuilder,
    AgentTextDelta,
    AgentThinkingDelta,
    AgentToolDone,
    AgentToolUsed,
    AnswerDelta,
    ExcerptRetrieved,
    FileChanged,
    ModelRequestSent,
    ModelTextReceived,
    RetrievalAnnotated,
    SearchIssued,
    TokensCounted,
    TurnBegun,
    TurnDone,
    TurnEvent,
    TurnFailed,
    TurnReminded,
)


@dataclass(slots=True)
class AgentTurnBuilder:
    """Takes events one by one; those that are no steps change nothing."""

    changes: list[FileChange] = field(default_factory=list)
    _message_builder: AgentMessageBuilder = field(default_factory=AgentMessageBuilder)
    _complete_messages: list[AgentMessage] = field(default_factory=list)

    def add(self, event: TurnEvent) -> None:
        """Take the next event."""
        match event:
            case (
                AgentTextDelta()
                | AgentThinkingDelta()
                | AgentToolUsed()
                | AgentToolDone()
                | TurnReminded()
            ):
                self._complete_messages += self._message_builder.add(event)
            case FileChanged(change):
                if change not in self.changes:
                    self.changes.append(change)
            case _:
                pass

    @property
    def messages(self) -> tuple[AgentMessage, ...]:
        """What was said so far, the last of it perhaps not whole."""
        growing = self._message_builder.build_partial()
        return (*self._complete_messages, growing) if growing else tuple(self._complete_messages)

    @property
    def answer(self) -> str:
        """What the agent said last."""
        for message in reversed(self.messages):
            said = [block.text for block in message.content if isinstance(block, TextContent)]
            if said and message.role == ROLE_ASSISTANT:
                return "\n\n".join(said)
        return ""


@dataclass(slots=True)
class _RoundBuilder:
    annotation: str
    searches: list[str] = field(default_factory=list)
    results: list[Excerpt] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class UncountedRequest:
    """A request whose cost nobody told: what was sent and what came back of it.

    ``known`` tokens were sent besides.
    """

    sent: str
    received: str
    known_tokens: int = 0


class TurnBuilder:
    """Takes events one by one; at any moment ``turn`` is what was shown so far."""

    def __init__(self, request: TurnRequest) -> None:
        self._request = request
        self._rounds: list[_RoundBuilder] = []
        self._answer: list[str] = []
        self._error = ""
        self._outcome = TurnOutcome.INTERRUPTED
        self._citations: tuple[Citation, ...] = ()
        self._masked_count = 0
        self._token_usage = TokenUsage()
        self._open_request: ModelRequestSent | None = None
        self._received_parts: list[str] = []
        self._agent_builder = AgentTurnBuilder()

    def add(self, event: TurnEvent) -> None:
        """Take the next event."""
        match event:
            case RetrievalAnnotated(purpose):
                self._rounds.append(_RoundBuilder(purpose))
            case SearchIssued(query):
                self._get_current_round().searches.append(query)
            case ExcerptRetrieved(excerpt):
                self._get_current_round().results.append(excerpt)
            case AnswerDelta(text):
                self._answer.append(text)
            case TurnFailed(_, message):
                self._error, self._outcome = message, TurnOutcome.FAILED
            case TurnDone(outcome, citations, masked, spent):
                self._outcome, self._citations = outcome, citations
                self._masked_count, self._token_usage = masked, spent
            case _:
                self._add_usage(event)

    @property
    def request(self) -> TurnRequest:
        """What was asked."""
        return self._request

    @property
    def answer(self) -> str:
        """What was answered so far."""
        return "".join(self._answer) or self._agent_builder.answer

    @property
    def results(self) -> list[Excerpt]:
        """Everything retrieved so far."""
        return [excerpt for one in self._rounds for excerpt in one.results]

    @property
    def token_usage(self) -> TokenUsage:
        """What the requests cost whose cost is known."""
        return self._token_usage

    @property
    def uncounted_request(self) -> UncountedRequest | None:
        """The request under way, if its cost is not known yet."""
        if self._open_request is None:
            return None
        return UncountedRequest(
            self._open_request.text, "".join(self._received_parts), self._open_request.known
        )

    def build(self) -> Turn:
        """What was shown so far."""
        return Turn(
            request=self._request,
            retrieval=tuple(
                RetrievalRound(one.annotation, tuple(one.searches), tuple(one.results))
                for one in self._rounds
            ),
            answer=self.answer,
            outcome=self._outcome,
            error=self._error,
            citations=self._citations,
            masked=self._masked_count,
            token_usage=self._token_usage,
            messages=self._agent_builder.messages,
            changes=tuple(self._agent_builder.changes),
        )

    @property
    def agent_builder(self) -> AgentTurnBuilder:
        """What an agent has said and done so far."""
        return self._agent_builder

    def _get_current_round(self) -> _RoundBuilder:
        if not self._rounds:
            self._rounds.append(_RoundBuilder(""))
        return self._rounds[-1]

    def _add_usage(self, event: TurnEvent) -> None:
        match event:
            case ModelRequestSent():
                self._open_request = event
                self._received_parts.clear()
            case ModelTextReceived(text):
                self._received_parts.append(text)
            case TokensCounted(spent):
                self._token_usage += spent
                self._open_request = None
                self._received_parts.clear()
            case _:
                self._agent_builder.add(event)


def build_from_events(events: list[TurnEvent]) -> TurnBuilder | None:
    """The fold of a journal; None if it does not say what was asked."""
    if not events or not isinstance(events[0], TurnBegun):
        return None
    fold = TurnBuilder(events[0].asking)
    for event in events[1:]:
        fold.add(event)
    return fold
