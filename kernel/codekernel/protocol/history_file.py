"""A conversation on disk.

The lines of a turn's journal, and conversation-<id>.json with the document's keys and our
additions.
"""

from typing import Any

import msgspec

from codekernel.domain import turn_events as events
from codekernel.domain.turn import Citation, Excerpt, PastTurn, Turn, TurnOutcome
from codekernel.domain.turn_events import TurnEvent
from codekernel.protocol.codec import dump_json, load_json
from codekernel.protocol.messages.agent import (
    AgentEntry,
    UndoneEntry,
    build_change_entries,
    build_message_entry,
)
from codekernel.protocol.messages.conversation import (
    CitationEntry,
    ResultContent,
    SpentEntry,
    build_citation_entries,
    build_result_content,
    build_spent_entry,
)

_EVENT_TYPES: dict[str, type[TurnEvent]] = {
    "begun": events.TurnBegun,
    "annotation": events.RetrievalAnnotated,
    "search": events.SearchIssued,
    "result": events.ExcerptRetrieved,
    "doneRetrieval": events.RetrievalDone,
    "answer": events.AnswerDelta,
    "failed": events.TurnFailed,
    "done": events.TurnDone,
    "sent": events.ModelRequestSent,
    "received": events.ModelTextReceived,
    "counted": events.TokensCounted,
    "said": events.AgentTextDelta,
    "thought": events.AgentThinkingDelta,
    "toolUse": events.AgentToolUsed,
    "toolResult": events.AgentToolDone,
    "reminded": events.TurnReminded,
    "changed": events.FileChanged,
}

_EVENT_NAMES = {kind: name for name, kind in _EVENT_TYPES.items()}


def encode_journal_line(event: TurnEvent) -> bytes:
    """The event with a newline at its end, by which a line that was cut off is known."""
    return dump_json([_EVENT_NAMES[type(event)], event]) + b"\n"


def decode_journal_lines(content: bytes) -> tuple[list[TurnEvent], bool]:
    """The events that can be read, and whether nothing is damaged.

    A last line that a crash cut off is no damage: what it was to say was never shown.
    """
    found: list[TurnEvent] = []
    is_whole = True
    for line in content.split(b"\n")[:-1]:
        try:
            name, payload = load_json(line)
            found.append(msgspec.convert(payload, _EVENT_TYPES[name]))
        except (ValueError, TypeError, KeyError):
            is_whole = False
    return found, is_whole


class _HistoryStruct(msgspec.Struct, frozen=True, rename="camel"):
    """What every object of the file has in common."""


class RoundEntry(_HistoryStruct, frozen=True):
    """An element of ``retrieval``."""

    annotation: str = ""
    search: list[str] = []
    result: list[ResultContent] = []


class TurnEntry(_HistoryStruct, frozen=True, omit_defaults=True):
    """An element of ``history``; after ``time`` come additions to the document."""

    query: str
    retrieval: list[RoundEntry]
    answer: str
    time: int
    model_name: str = ""
    outcome: str = ""
    error: str = ""
    citations: list[CitationEntry] = []
    masked: int = 0
    usage: SpentEntry | None = None
    summary: str = ""
    agent: AgentEntry | None = None


class HistoryFile(_HistoryStruct, frozen=True):
    """The whole file; ``repoPath`` is an addition."""

    conversation_id: int
    topic: str
    history: list[TurnEntry]
    repo_path: str = ""


class UnreadableHistoryError(ValueError):
    """The file is not what its name says; the message says why."""


_HISTORY_DECODER = msgspec.json.Decoder(HistoryFile)


def decode_history_file(content: bytes) -> HistoryFile:
    """What the document knows of a file, ten times as fast as a ``History`` is read.

    Raises UnreadableHistory.
    """
    try:
        return _HISTORY_DECODER.decode(content)
    except (ValueError, RecursionError):  # broken, or with half a surrogate pair in it
        try:
            return msgspec.convert(load_json(content), HistoryFile)
        except (ValueError, RecursionError) as error:
            raise UnreadableHistoryError(str(error)) from error


class ConversationHistory:
    """The content of one file; whatever else somebody wrote into it stays there."""

    def __init__(self, document: dict[str, Any], entries: HistoryFile) -> None:
        self._document = document
        self._entries = entries

    @classmethod
    def create(cls, conversation_id: int, topic: str, repo_path: str) -> "ConversationHistory":
        """A conversation in which nothing was said yet."""
        entries = HistoryFile(conversation_id, topic, [], repo_path)
        return cls(msgspec.to_builtins(entries), entries)

    @classmethod
    def from_bytes(cls, content: bytes, conversation_id: int) -> "ConversationHistory":
        """Raises UnreadableHistory. A copy under another name gets that name's id."""
        try:
            document = load_json(content)
            entries = msgspec.convert(document, HistoryFile)
        except (ValueError, RecursionError) as error:
            raise UnreadableHistoryError(str(error)) from error
        document["conversationId"] = conversation_id
        return cls(document, entries)

    @property
    def entries(self) -> HistoryFile:
        """What the document knows of it, with the id by which it was asked for."""
        number = self._document["conversationId"]
        return msgspec.structs.replace(self._entries, conversation_id=number)

    @property
    def topic(self) -> str:
        """What the conversation is about: its first question."""
        return self._entries.topic

    @property
    def repo_path(self) -> str:
        """Where it was asked; empty if an older kernel wrote the file."""
        return self._entries.repo_path

    def list_turns(self) -> list[PastTurn]:
        """What was said, oldest first."""
        return [_build_past_turn(entry) for entry in self._entries.history]

    def has_turn(self, turn: Turn) -> bool:
        """Whether this very turn is in the file already, as whole as it is known."""
        return any(
            _is_same_turn(entry, turn)
            and (
                entry.outcome != TurnOutcome.INTERRUPTED or turn.outcome is TurnOutcome.INTERRUPTED
            )
            for entry in self._entries.history
        )

    def with_turn(self, turn: Turn) -> "ConversationHistory":
        """With one more turn; what a journal that was cut off knew of it gives way."""
        known = zip(self._document["history"], self._entries.history, strict=True)
        kept = [raw for raw, entry in known if not _is_same_turn(entry, turn)]
        document = self._document | {
            "history": [*kept, msgspec.to_builtins(_build_turn_entry(turn))]
        }
        return ConversationHistory(document, msgspec.convert(document, HistoryFile))

    def with_summary(self, number: int, summary: str) -> "ConversationHistory":
        """With the summary of turn ``number`` beside it."""
        turns = list(self._document["history"])
        turns[number] = turns[number] | {"summary": summary}
        document = self._document | {"history": turns}
        return ConversationHistory(document, msgspec.convert(document, HistoryFile))

    def with_undo_results(self, time: int, files: list[UndoneEntry]) -> "ConversationHistory":
        """With what became of the files that the agent's turn of this time had changed."""
        told = msgspec.to_builtins(files)
        turns = [
            turn | {"agent": turn["agent"] | {"undone": told}}
            if turn["time"] == time and turn.get("agent")
            else turn
            for turn in self._document["history"]
        ]
        document = self._document | {"history": turns}
        return ConversationHistory(document, msgspec.convert(document, HistoryFile))

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> "ConversationHistory":
        """A document that is known to be one."""
        return cls(document, msgspec.convert(document, HistoryFile))

    @property
    def raw_turns(self) -> list[dict[str, Any]]:
        """The turns as they stand in the file, with whatever else somebody wrote into them."""
        turns: list[dict[str, Any]] = self._document["history"]
        return turns

    def with_repo_path(self, repo_path: str) -> "ConversationHistory":
        """About another folder."""
        return ConversationHistory.from_document(self._document | {"repoPath": repo_path})

    def merge(self, other: "ConversationHistory") -> "ConversationHistory":
        """With the turns that only ``other`` has, in the order of their times."""
        known = {(entry.time, entry.query) for entry in self._entries.history}
        missing = [turn for turn in other.raw_turns if (turn["time"], turn["query"]) not in known]
        if not missing:
            return self
        turns = sorted([*self._document["history"], *missing], key=lambda turn: int(turn["time"]))
        return ConversationHistory.from_document(self._document | {"history": turns})

    @staticmethod
    def dump_document(value: object) -> bytes:
        """A document of another kind, written as a history is."""
        return dump_json(value, indented=True)

    def to_bytes(self) -> bytes:
        """What to write."""
        return dump_json(self._document, indented=True)


def _is_same_turn(entry: TurnEntry, turn: Turn) -> bool:
    return (entry.time, entry.query) == (turn.request.time_ms, turn.request.query)


def _build_past_turn(entry: TurnEntry) -> PastTurn:
    results = tuple(
        Excerpt(
            path=found.file_path,
            begin_line=found.begin_line,
            end_line=found.end_line,
            content=found.content,
            metadata=found.metadata,
            score=found.score,
            chunk_id=found.chunk_id,
        )
        for one in entry.retrieval
        for found in one.result
    )
    session = entry.agent.session if entry.agent else ""
    return PastTurn(entry.query, entry.answer, results, entry.summary, session)


def _build_turn_entry(turn: Turn) -> TurnEntry:
    citations: tuple[Citation, ...] = turn.citations
    return TurnEntry(
        query=turn.request.query,
        retrieval=[
            RoundEntry(
                one.annotation, list(one.searches), list(map(build_result_content, one.results))
            )
            for one in turn.retrieval
        ],
        answer=turn.answer,
        time=turn.request.time_ms,
        model_name=turn.request.model_name,
        outcome=turn.outcome.value,
        error=turn.error,
        citations=build_citation_entries(citations),
        masked=turn.masked,
        usage=build_spent_entry(turn.token_usage),
        agent=_build_agent_entry(turn),
    )


def _build_agent_entry(turn: Turn) -> AgentEntry | None:
    place = turn.request.agent
    if place is None:
        return None
    return AgentEntry(
        session=place.session,
        first_change=place.first_change,
        messages=[build_message_entry(message) for message in turn.messages],
        changes=build_change_entries(turn.changes),
    )
