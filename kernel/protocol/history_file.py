"""conversation-<id>.json: its keys as the front end's document spells them, and our additions."""

from typing import Any

import msgspec

from kernel.domain.turn import Citation, Excerpt, Outcome, PastTurn, Turn
from kernel.protocol.messages.agent import (
    AgentEntry,
    UndoneEntry,
    change_entries,
    message_entry,
)
from kernel.protocol.messages.conversation import (
    CitationEntry,
    ResultContent,
    SpentEntry,
    citation_entries,
    result_content,
    spent_entry,
)
from kernel.protocol.plain_json import dumped, loaded


class _Part(msgspec.Struct, frozen=True, rename="camel"):
    """What every object of the file has in common."""


class RoundEntry(_Part, frozen=True):
    """An element of ``retrieval``."""

    annotation: str = ""
    search: list[str] = []
    result: list[ResultContent] = []


class TurnEntry(_Part, frozen=True, omit_defaults=True):
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


class HistoryFile(_Part, frozen=True):
    """The whole file; ``repoPath`` is an addition."""

    conversation_id: int
    topic: str
    history: list[TurnEntry]
    repo_path: str = ""


class UnreadableHistory(ValueError):
    """The file is not what its name says; the message says why."""


_DECODER = msgspec.json.Decoder(HistoryFile)


def entries_of(content: bytes) -> HistoryFile:
    """What the document knows of a file, ten times as fast as a ``History`` is read.

    Raises UnreadableHistory.
    """
    try:
        return _DECODER.decode(content)
    except (ValueError, RecursionError):  # broken, or with half a surrogate pair in it
        try:
            return msgspec.convert(loaded(content), HistoryFile)
        except (ValueError, RecursionError) as error:
            raise UnreadableHistory(str(error)) from error


class History:
    """The content of one file; whatever else somebody wrote into it stays there."""

    def __init__(self, document: dict[str, Any], entries: HistoryFile) -> None:
        self._document = document
        self._entries = entries

    @classmethod
    def new(cls, conversation_id: int, topic: str, repo_path: str) -> "History":
        """A conversation in which nothing was said yet."""
        entries = HistoryFile(conversation_id, topic, [], repo_path)
        return cls(msgspec.to_builtins(entries), entries)

    @classmethod
    def read(cls, content: bytes, conversation_id: int) -> "History":
        """Raises UnreadableHistory. A copy under another name gets that name's id."""
        try:
            document = loaded(content)
            entries = msgspec.convert(document, HistoryFile)
        except (ValueError, RecursionError) as error:
            raise UnreadableHistory(str(error)) from error
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

    def turns(self) -> list[PastTurn]:
        """What was said, oldest first."""
        return [_past(entry) for entry in self._entries.history]

    def has(self, turn: Turn) -> bool:
        """Whether this very turn is in the file already, as whole as it is known."""
        return any(
            _is_same(entry, turn)
            and (entry.outcome != Outcome.INTERRUPTED or turn.outcome is Outcome.INTERRUPTED)
            for entry in self._entries.history
        )

    def append(self, turn: Turn) -> "History":
        """With one more turn; what a journal that was cut off knew of it gives way."""
        known = zip(self._document["history"], self._entries.history, strict=True)
        kept = [raw for raw, entry in known if not _is_same(entry, turn)]
        document = self._document | {"history": [*kept, msgspec.to_builtins(_entry(turn))]}
        return History(document, msgspec.convert(document, HistoryFile))

    def summarized(self, number: int, summary: str) -> "History":
        """With the summary of turn ``number`` beside it."""
        turns = list(self._document["history"])
        turns[number] = turns[number] | {"summary": summary}
        document = self._document | {"history": turns}
        return History(document, msgspec.convert(document, HistoryFile))

    def undone(self, time: int, files: list[UndoneEntry]) -> "History":
        """With what became of the files that the agent's turn of this time had changed."""
        told = msgspec.to_builtins(files)
        turns = [
            turn | {"agent": turn["agent"] | {"undone": told}}
            if turn["time"] == time and turn.get("agent")
            else turn
            for turn in self._document["history"]
        ]
        document = self._document | {"history": turns}
        return History(document, msgspec.convert(document, HistoryFile))

    @classmethod
    def of(cls, document: dict[str, Any]) -> "History":
        """A document that is known to be one."""
        return cls(document, msgspec.convert(document, HistoryFile))

    @property
    def raw_turns(self) -> list[dict[str, Any]]:
        """The turns as they stand in the file, with whatever else somebody wrote into them."""
        turns: list[dict[str, Any]] = self._document["history"]
        return turns

    def moved_to(self, repo_path: str) -> "History":
        """About another folder."""
        return History.of(self._document | {"repoPath": repo_path})

    def joined(self, other: "History") -> "History":
        """With the turns that only ``other`` has, in the order of their times."""
        known = {(entry.time, entry.query) for entry in self._entries.history}
        missing = [turn for turn in other.raw_turns if (turn["time"], turn["query"]) not in known]
        if not missing:
            return self
        turns = sorted([*self._document["history"], *missing], key=lambda turn: int(turn["time"]))
        return History.of(self._document | {"history": turns})

    @staticmethod
    def raw_content(value: object) -> bytes:
        """A document of another kind, written as a history is."""
        return dumped(value, indented=True)

    def content(self) -> bytes:
        """What to write."""
        return dumped(self._document, indented=True)


def _is_same(entry: TurnEntry, turn: Turn) -> bool:
    return (entry.time, entry.query) == (turn.asking.time_ms, turn.asking.query)


def _past(entry: TurnEntry) -> PastTurn:
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


def _entry(turn: Turn) -> TurnEntry:
    citations: tuple[Citation, ...] = turn.citations
    return TurnEntry(
        query=turn.asking.query,
        retrieval=[
            RoundEntry(one.annotation, list(one.searches), list(map(result_content, one.results)))
            for one in turn.retrieval
        ],
        answer=turn.answer,
        time=turn.asking.time_ms,
        model_name=turn.asking.model_name,
        outcome=turn.outcome.value,
        error=turn.error,
        citations=citation_entries(citations),
        masked=turn.masked,
        usage=spent_entry(turn.spent),
        agent=_agent(turn),
    )


def _agent(turn: Turn) -> AgentEntry | None:
    place = turn.asking.agent
    if place is None:
        return None
    return AgentEntry(
        session=place.session,
        first_change=place.first_change,
        messages=[message_entry(message) for message in turn.messages],
        changes=change_entries(turn.changes),
    )
