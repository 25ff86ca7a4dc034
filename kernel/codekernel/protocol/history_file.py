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
    """Return the event with a newline at its end, by which a truncated line is recognised."""
    return dump_json([_EVENT_NAMES[type(event)], event]) + b"\n"


def decode_journal_lines(content: bytes) -> tuple[list[TurnEvent], bool]:
    """Return the events that can be read, and whether nothing is damaged.

    A last line truncated by a crash is no damage: its event was never shown.
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
    """The file is no valid history; the message says why."""


_HISTORY_DECODER = msgspec.json.Decoder(HistoryFile)


def decode_history_file(content: bytes) -> HistoryFile:
    """Decode the documented fields, ten times as fast as ConversationHistory.from_bytes.

    Raises UnreadableHistoryError.
    """
    try:
        return _HISTORY_DECODER.decode(content)
    except (ValueError, RecursionError):  # broken, or with half a surrogate pair in it
        try:
            return msgspec.convert(load_json(content), HistoryFile)
        except (ValueError, RecursionError) as error:
            raise UnreadableHistoryError(str(error)) from error


class ConversationHistory:
    """The content of one file; unknown keys in it are kept."""

    def __init__(self, document: dict[str, Any], entries: HistoryFile) -> None:
        self._document = document
        self._entries = entries

    @classmethod
    def create(cls, conversation_id: int, topic: str, repo_path: str) -> "ConversationHistory":
        """Return an empty conversation."""
        entries = HistoryFile(conversation_id, topic, [], repo_path)
        return cls(msgspec.to_builtins(entries), entries)

    @classmethod
    def from_bytes(cls, content: bytes, conversation_id: int) -> "ConversationHistory":
        """Parse a file, which gets this id. Raises UnreadableHistoryError."""
        try:
            document = load_json(content)
            entries = msgspec.convert(document, HistoryFile)
        except (ValueError, RecursionError) as error:
            raise UnreadableHistoryError(str(error)) from error
        document["conversationId"] = conversation_id
        return cls(document, entries)

    @property
    def entries(self) -> HistoryFile:
        """The documented fields, with the id the file was read by."""
        number = self._document["conversationId"]
        return msgspec.structs.replace(self._entries, conversation_id=number)

    @property
    def topic(self) -> str:
        """What the conversation is about: its first question."""
        return self._entries.topic

    @property
    def repo_path(self) -> str:
        """The repository; empty if an older kernel wrote the file."""
        return self._entries.repo_path

    def list_turns(self) -> list[PastTurn]:
        """Return the turns, oldest first."""
        return [_build_past_turn(entry) for entry in self._entries.history]

    def has_turn(self, turn: Turn) -> bool:
        """Whether this turn is in the file already, and not only a truncated part of it."""
        same = [entry for entry in self._entries.history if _is_same_turn(entry, turn)]
        cut_off = TurnOutcome.INTERRUPTED
        return any(entry.outcome != cut_off or turn.outcome is cut_off for entry in same)

    def with_turn(self, turn: Turn) -> "ConversationHistory":
        """Return a copy with one more turn, which replaces its truncated version."""
        known = zip(self._document["history"], self._entries.history, strict=True)
        kept = [raw for raw, entry in known if not _is_same_turn(entry, turn)]
        return self._with_turns([*kept, msgspec.to_builtins(_build_turn_entry(turn))])

    def with_summary(self, number: int, summary: str) -> "ConversationHistory":
        """Return a copy with the summary of turn ``number``."""
        turns = list(self._document["history"])
        turns[number] = turns[number] | {"summary": summary}
        return self._with_turns(turns)

    def with_undo_results(self, time: int, files: list[UndoneEntry]) -> "ConversationHistory":
        """Return a copy with the undo results of the agent's turn of this time."""
        undone = {"undone": msgspec.to_builtins(files)}
        return self._with_turns(
            [
                turn | {"agent": turn["agent"] | undone}
                if turn["time"] == time and turn.get("agent")
                else turn
                for turn in self.raw_turns
            ]
        )

    def _with_turns(self, turns: list[dict[str, Any]]) -> "ConversationHistory":
        return self.from_document(self._document | {"history": turns})

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> "ConversationHistory":
        """Return the history of a valid document."""
        return cls(document, msgspec.convert(document, HistoryFile))

    @property
    def raw_turns(self) -> list[dict[str, Any]]:
        """The turns as they stand in the file, with unknown keys."""
        turns: list[dict[str, Any]] = self._document["history"]
        return turns

    def with_repo_path(self, repo_path: str) -> "ConversationHistory":
        """Return a copy for another folder."""
        return ConversationHistory.from_document(self._document | {"repoPath": repo_path})

    def merge(self, other: "ConversationHistory") -> "ConversationHistory":
        """Return a copy with the turns that only ``other`` has, in the order of their times."""
        known = {(entry.time, entry.query) for entry in self._entries.history}
        missing = [turn for turn in other.raw_turns if (turn["time"], turn["query"]) not in known]
        if not missing:
            return self
        return self._with_turns(
            sorted([*self.raw_turns, *missing], key=lambda turn: int(turn["time"]))
        )

    @staticmethod
    def dump_document(value: object) -> bytes:
        """Encode another document in the format of a history."""
        return dump_json(value, indented=True)

    def to_bytes(self) -> bytes:
        """Return the content of the file."""
        return dump_json(self._document, indented=True)


def _is_same_turn(entry: TurnEntry, turn: Turn) -> bool:
    return (entry.time, entry.query) == (turn.request.time_ms, turn.request.query)


def _build_past_turn(entry: TurnEntry) -> PastTurn:
    results = tuple(
        Excerpt(
            found.file_path, found.begin_line, found.end_line, found.content, found.metadata,
            found.score, found.chunk_id,
        )
        for one in entry.retrieval
        for found in one.result
    )  # fmt: skip
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
