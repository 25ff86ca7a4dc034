"""A turn of a conversation.

The request, what was retrieved, the answer, its citations, its token usage, and the results of
undoing an agent's changes.
"""

from dataclasses import dataclass
from enum import StrEnum

from codekernel.domain.chat import AgentMessage


class TurnOutcome(StrEnum):
    """How a turn ended; the words are stored and shown, so they stay as they are."""

    DONE = "done"
    STOPPED = "stopped"  # by a person, or because the window or the kernel went away
    FAILED = "failed"  # the model or the disk; the error says what
    INTERRUPTED = "interrupted"  # the kernel itself ended without a word


class CitationState(StrEnum):
    """Whether the file still says what an answer cites; stored and shown as well."""

    VERIFIED = "verified"
    MOVED = "moved"
    STALE = "stale"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines ``begin_line`` (0-based) up to, not including, ``end_line`` of a file, as retrieved.

    ``highlighted`` is the content for a page, with the words it was found by marked, if asked for.
    """

    path: str
    begin_line: int
    end_line: int
    content: str
    metadata: str
    score: float
    chunk_id: int
    highlighted: str = ""


@dataclass(frozen=True, slots=True)
class Citation:
    """A place that the answer names, by lines as people count them: from 1, the last included.

    ``now_begin`` and ``now_end`` are where the cited text stands now, if it has moved.
    """

    text: str
    path: str
    begin: int
    end: int
    holds: CitationState
    reason: str = ""
    now_begin: int | None = None
    now_end: int | None = None


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of a turn; ``exact`` if the provider counted all of them."""

    input_tokens: int = 0
    output_tokens: int = 0
    exact: bool = True

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        return TokenUsage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.exact and other.exact,
        )


NO_TOKEN_USAGE = TokenUsage()


@dataclass(frozen=True, slots=True)
class RetrievalRound:
    """One round: its purpose, the queries, what was found."""

    annotation: str
    searches: tuple[str, ...]
    results: tuple[Excerpt, ...]


@dataclass(frozen=True, slots=True)
class AgentTurnRef:
    """Where an agent's work is kept: its session, and where its turn begins in the undo journal.

    ``first_change`` is the number that the first change of this turn has there.
    """

    session: str
    first_change: int


@dataclass(frozen=True, slots=True)
class FileChange:
    """What an agent has done to a file: changed, created or deleted it, or made folders."""

    path: str
    kind: str


@dataclass(frozen=True, slots=True)
class AgentTurnSummary:
    """What the end of an agent's turn tells besides: when it began, what it changed."""

    time_ms: int
    changes: tuple[FileChange, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """Who asks what, of which model, where; ``time_ms`` since the epoch.

    ``repo_id`` is None for a folder that is not registered, whose usage nobody keeps. ``agent`` is
    None for a question, which is answered without one. ``is_mirrored``: PocketRAG's front end asks,
    and reads the history in its repository. ``turn_key``: the client's id of the request, by which
    it is known when another kernel gets it again.
    """

    conversation_id: int
    query: str
    model_name: str
    time_ms: int
    repo_id: int | None
    repo_path: str
    agent: AgentTurnRef | None = None
    is_mirrored: bool = False
    turn_key: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """A question and everything that was shown for it."""

    request: TurnRequest
    retrieval: tuple[RetrievalRound, ...] = ()
    answer: str = ""
    outcome: TurnOutcome = TurnOutcome.INTERRUPTED
    error: str = ""
    citations: tuple[Citation, ...] = ()
    masked: int = 0
    token_usage: TokenUsage = NO_TOKEN_USAGE
    messages: tuple[AgentMessage, ...] = ()
    changes: tuple[FileChange, ...] = ()


@dataclass(frozen=True, slots=True)
class PastTurn:
    """What of an earlier turn matters to the next one; ``session`` is that of its agent."""

    query: str
    answer: str
    results: tuple[Excerpt, ...] = ()
    summary: str = ""
    session: str = ""
    turn_key: str = ""


class UndoState(StrEnum):
    """How a file is now; the words are stored and shown, so they stay as they are."""

    RESTORED = "restored"  # as it was before
    REMOVED = "removed"  # it was not there before
    KEPT = "kept"  # as it was when undoing began; the reason says why


@dataclass(frozen=True, slots=True)
class UndoResult:
    """``path`` is relative to the repository; ``reason`` is for a person."""

    path: str
    state: UndoState
    reason: str = ""
