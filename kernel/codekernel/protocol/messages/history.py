"""The history of a conversation as its file and the reply to getConversation have it."""

import msgspec

from codekernel.protocol.messages.conversation import (
    AgentEntry,
    CitationEntry,
    ResultContent,
    SpentEntry,
)


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
