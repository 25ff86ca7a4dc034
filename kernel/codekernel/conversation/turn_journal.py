"""A turn built from its events, and the journal that has each event before it is shown.

The history file, the recovery of a journal after a crash, and every view of a turn use this one
reducer.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from codekernel.domain import turn_events as events
from codekernel.domain.chat import ROLE_ASSISTANT, AgentMessage, TextContent
from codekernel.domain.turn import (
    Excerpt,
    FileChange,
    RetrievalRound,
    TokenUsage,
    Turn,
    TurnOutcome,
    TurnRequest,
)
from codekernel.domain.turn_events import AgentMessageBuilder, TurnEvent
from codekernel.loop.loop import CountTokens
from codekernel.protocol.history_file import decode_journal_lines, encode_journal_line
from codekernel.storage.conversation_files import TurnJournalFile
from codekernel.storage.safe_files import NotRegularFile, read_regular


class TurnBuilder:
    """Builds a turn event by event; ``build`` may be called at any time.

    ``token_usage`` are the tokens of all requests that reported them.
    """

    def __init__(self, request: TurnRequest) -> None:
        self.request = request
        self.token_usage = TokenUsage()
        self.changes: list[FileChange] = []  # that an agent made
        self._rounds: list[RetrievalRound] = []
        self._answer: list[str] = []
        self._error = ""
        self._end = events.TurnDone(TurnOutcome.INTERRUPTED)
        self._open_request: events.ModelRequestSent | None = None
        self._received_parts: list[str] = []
        self._message_builder = AgentMessageBuilder()
        self._complete_messages: list[AgentMessage] = []

    def add(self, event: TurnEvent) -> None:
        """Add the next event."""
        match event:
            case events.RetrievalAnnotated(purpose):
                self._rounds.append(RetrievalRound(purpose, (), ()))
            case events.SearchIssued(query):
                self._extend_round(searches=(query,))
            case events.ExcerptRetrieved(excerpt):
                self._extend_round(results=(excerpt,))
            case events.AnswerDelta(text):
                self._answer.append(text)
            case events.TurnFailed(_, message):
                self._error, self._end = message, events.TurnDone(TurnOutcome.FAILED)
            case events.TurnDone(spent=spent):
                self._end, self.token_usage = event, spent
            case _:
                self._add_usage(event)

    @property
    def answer(self) -> str:
        """The answer so far; of an agent, its last text."""
        if self._answer:
            return "".join(self._answer)
        for message in reversed(self._list_messages()):
            texts = [block.text for block in message.content if isinstance(block, TextContent)]
            if texts and message.role == ROLE_ASSISTANT:
                return "\n\n".join(texts)
        return ""

    @property
    def results(self) -> list[Excerpt]:
        """All excerpts so far."""
        return [excerpt for one in self._rounds for excerpt in one.results]

    def estimate_missing_usage(self, count_tokens: CountTokens) -> Iterator[TurnEvent]:
        """Return the estimated tokens of a request that was cut off before they were reported."""
        sent = self._open_request
        if sent is not None:
            received = "".join(self._received_parts)
            read = count_tokens(sent.text) + sent.known
            written = count_tokens(received) if received else 0
            yield events.TokensCounted(TokenUsage(read, written, exact=False))

    def build(self) -> Turn:
        """Return the turn so far."""
        return Turn(
            request=self.request,
            retrieval=tuple(self._rounds),
            answer=self.answer,
            outcome=self._end.outcome,
            error=self._error,
            citations=self._end.citations,
            masked=self._end.masked,
            token_usage=self.token_usage,
            messages=self._list_messages(),
            changes=tuple(self.changes),
        )

    def _extend_round(
        self, searches: tuple[str, ...] = (), results: tuple[Excerpt, ...] = ()
    ) -> None:
        last = self._rounds.pop() if self._rounds else RetrievalRound("", (), ())
        self._rounds.append(
            replace(last, searches=last.searches + searches, results=last.results + results)
        )

    def _add_usage(self, event: TurnEvent) -> None:
        match event:
            case events.ModelRequestSent():
                self._open_request = event
                self._received_parts.clear()
            case events.ModelTextReceived(text):
                self._received_parts.append(text)
            case events.TokensCounted(spent):
                self.token_usage += spent
                self._open_request = None
                self._received_parts.clear()
            case _:
                self._add_agent_step(event)

    def _add_agent_step(self, event: TurnEvent) -> None:
        if isinstance(event, events.AgentStep):
            self._complete_messages += self._message_builder.add(event)
        elif isinstance(event, events.FileChanged) and event.change not in self.changes:
            self.changes.append(event.change)

    def _list_messages(self) -> tuple[AgentMessage, ...]:
        """Return the agent's messages so far; the last one may be incomplete."""
        partial = self._message_builder.build_partial()
        return (*self._complete_messages, *([partial] if partial else ()))


class TurnJournal:
    """The journal of one turn: each event is written at once and added to ``builder``."""

    def __init__(self, request: TurnRequest, path: Path) -> None:
        self.builder = TurnBuilder(request)
        self.path = path
        self._file = TurnJournalFile(path)
        self._file.append(encode_journal_line(events.TurnBegun(request)))

    def append(self, event: TurnEvent) -> None:
        """Write an event; called before it is shown."""
        self._file.append(encode_journal_line(event))
        self.builder.add(event)

    def close(self) -> None:
        """Close the file; it is deleted once the turn is saved."""
        self._file.close()


def read_journal(path: Path) -> tuple[TurnBuilder | None, str]:
    """Build the turn of a journal that a crash left, and say what is wrong with the file.

    Returns no turn and no damage for an empty journal. Raises OSError if it cannot be read now.
    """
    try:
        content = read_regular(path)
    except NotRegularFile as error:
        return None, str(error)
    lines, is_whole = decode_journal_lines(content)
    builder = None
    if lines and isinstance(lines[0], events.TurnBegun):
        builder = TurnBuilder(lines[0].asking)
        for event in lines[1:]:
            builder.add(event)
    is_sound = is_whole and (builder or not content.strip())
    return builder, "" if is_sound else "lines of it are damaged"
