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
    """Builds the messages of an agent's turn; other events are ignored."""

    changes: list[FileChange] = field(default_factory=list)
    _message_builder: AgentMessageBuilder = field(default_factory=AgentMessageBuilder)
    _complete_messages: list[AgentMessage] = field(default_factory=list)

    def add(self, event: TurnEvent) -> None:
        """Add the next event."""
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
        """The messages so far; the last one may be incomplete."""
        partial = self._message_builder.build_partial()
        return (*self._complete_messages, partial) if partial else tuple(self._complete_messages)

    @property
    def answer(self) -> str:
        """The agent's last text."""
        for message in reversed(self.messages):
            texts = [block.text for block in message.content if isinstance(block, TextContent)]
            if texts and message.role == ROLE_ASSISTANT:
                return "\n\n".join(texts)
        return ""


@dataclass(slots=True)
class _RoundBuilder:
    annotation: str
    searches: list[str] = field(default_factory=list)
    results: list[Excerpt] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class UncountedRequest:
    """A request whose tokens were not reported: the texts sent and received.

    ``known_tokens`` were sent besides.
    """

    sent: str
    received: str
    known_tokens: int = 0


class TurnBuilder:
    """Builds a turn event by event; ``build`` may be called at any time."""

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
        """Add the next event."""
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
        """The request of the turn."""
        return self._request

    @property
    def answer(self) -> str:
        """The answer so far."""
        return "".join(self._answer) or self._agent_builder.answer

    @property
    def results(self) -> list[Excerpt]:
        """All excerpts so far."""
        return [excerpt for one in self._rounds for excerpt in one.results]

    @property
    def token_usage(self) -> TokenUsage:
        """The tokens of all requests that reported them."""
        return self._token_usage

    @property
    def uncounted_request(self) -> UncountedRequest | None:
        """The current request, if its tokens have not been reported."""
        if self._open_request is None:
            return None
        return UncountedRequest(
            self._open_request.text, "".join(self._received_parts), self._open_request.known
        )

    def build(self) -> Turn:
        """Return the turn so far."""
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
        """The builder of the agent's messages."""
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
    """Build the turn of a journal; None if its first event is not the request."""
    if not events or not isinstance(events[0], TurnBegun):
        return None
    builder = TurnBuilder(events[0].asking)
    for event in events[1:]:
        builder.add(event)
    return builder
