"""Messages of conversations: asking, stopping, listing, deleting, and the parts of an answer.

Also what is kept of them: the history as its file has it, and what their models used.
"""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from codekernel.domain.settings import Price
from codekernel.protocol.envelope import ConversationId, Message, ReplyData, encode_ascii_json
from codekernel.protocol.messages.agent_turns import AgentEntry, ChangeEntry, TurnKey

SCORE_DIGITS = 4


class BeginConversation(Message, frozen=True, tag="beginConversation"):
    """Ask a question; the answer is streamed as replies to this one request.

    ``goesOn``: it is answered without the window, which may come back with followConversation.
    ``turnKey``: an id of the client's own, by which a request that is sent again is known.
    """

    model_name: str
    conversation_id: ConversationId
    query: str
    turn_key: TurnKey = ""
    goes_on: bool = False


class StopConversation(Message, frozen=True, tag="stopConversation"):
    """End a running answer; what was shown is kept."""

    conversation_id: ConversationId


class GetConversations(Message, frozen=True, tag="getConversations"):
    """List the conversations about the open repository; an addition to the document."""


class ConversationEntry(ReplyData, frozen=True, omit_defaults=True):
    """A conversation as a list shows it; ``time`` is that of its last turn, in ms since 1970.

    ``unsaved``: turns of it wait for room on the disk; ``damaged``: why not all can be read.
    """

    conversation_id: int
    topic: str
    time_ms: int = field(name="time")
    turns: int
    is_unsaved: bool = field(name="unsaved", default=False)
    damage: str = field(name="damaged", default="")


class DamagedFileEntry(ReplyData, frozen=True):
    """A file that cannot be read whole, and why."""

    file: str
    reason: str


class RunningEntry(ReplyData, frozen=True):
    """A conversation in which something is at work, and what was asked."""

    conversation_id: int
    query: str
    is_agent: bool


class GetRunningTurns(Message, frozen=True, tag="getRunningTurns"):
    """List what is at work in all repositories; an addition to the document."""


class RunningTurnEntry(RunningEntry, frozen=True):
    """The same, with its repository."""

    repo_name: str


class GetRunningTurnsReply(ReplyData, frozen=True):
    """Those of repositories that are registered, oldest first."""

    turns: list[RunningTurnEntry]


class GetConversationsReply(ReplyData, frozen=True, omit_defaults=True):
    """Newest first; ``damaged`` are files of any repository, ``running`` those to follow."""

    conversations: list[ConversationEntry]
    running: list[RunningEntry] = field(default_factory=list)
    damaged: list[DamagedFileEntry] = field(default_factory=list)


class GetConversation(Message, frozen=True, tag="getConversation"):
    """Read one of them, as its history file has it; an addition to the document."""

    conversation_id: ConversationId


class DeleteConversation(Message, frozen=True, tag="deleteConversation"):
    """Delete one of them for good; an addition to the document."""

    conversation_id: ConversationId


class ResultContent(ReplyData, frozen=True, omit_defaults=True):
    """One excerpt, in a reply and in the history; the last two are additions."""

    content: str
    metadata: str
    begin_line: int
    end_line: int
    path: str = field(name="filePath")
    score: float = 0.0
    chunk_id: int = 0
    highlighted: str = field(name="highlightedContent", default="")


class CitationEntry(ReplyData, frozen=True, omit_defaults=True):
    """A place that the answer names: lines from 1, the last included, as the answer has them."""

    text: str
    path: str = field(name="filePath")
    begin: int
    end: int
    holds: str = field(name="state")
    reason: str = ""
    now_begin: int | None = None
    now_end: int | None = None


class SpentEntry(ReplyData, frozen=True):
    """Tokens of one turn; ``exact`` if the provider counted them."""

    input_tokens: int = field(name="input_token")
    output_tokens: int = field(name="output_token")
    exact: bool = True


class ConversationPart(ReplyData, frozen=True):
    """The ``data`` of each reply after the first; what follows ``content`` comes with ``done``.

    ``time`` and ``changes`` come with that of an agent. ``unsaved`` says why the turn is in memory
    alone, if it is; it is written as soon as the disk takes it.
    """

    type: str
    content: str | ResultContent = ""
    outcome: str | UnsetType = UNSET
    citations: list[CitationEntry] | UnsetType = UNSET
    masked: int | UnsetType = UNSET
    usage: SpentEntry | UnsetType = UNSET
    time: int | UnsetType = UNSET
    changes: list[ChangeEntry] | UnsetType = UNSET
    unsaved: str | UnsetType = UNSET


# Ends a turn that was refused.
FAILED_PART = ConversationPart(
    type="done", outcome="failed", citations=[], masked=0, usage=SpentEntry(0, 0)
)

# Ends the stream of a window that is closed; the turn goes on.
DETACHED_PART = ConversationPart(type="done", outcome="detached")

# The only part of ``followConversation`` where nothing is at work.
NOTHING_RUNS_PART = ConversationPart(type="done", outcome="idle")


def encode_failed_part() -> bytes:
    """Return the part of a refused turn as JSON, for a reply that is made without a kernel."""
    return encode_ascii_json(FAILED_PART)


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
    turn_key: str = ""


class HistoryFile(_HistoryStruct, frozen=True):
    """The whole file; ``repoPath`` is an addition."""

    conversation_id: int
    topic: str
    history: list[TurnEntry]
    repo_path: str = ""


COST_DIGITS = 6

TokenCost = float | UnsetType


class ForkConversation(Message, frozen=True, tag="forkConversation"):
    """Begin the conversation ``newId`` with the first ``turns`` turns of another one."""

    conversation_id: ConversationId
    new_id: ConversationId
    turns: Annotated[int, Meta(ge=1)]


class GetApiUsage(Message, frozen=True, tag="getApiUsage"):
    """Ask what the chat models have used for the open repository.

    ``allRepos``, an addition: and for each of the others.
    """

    all_repos: bool = False


class DayUsageEntry(ReplyData, frozen=True):
    """Tokens of one model on one day, and their cost where the settings know the price."""

    day: str
    input_tokens: int = field(name="input_token")
    output_tokens: int = field(name="output_token")
    cost: TokenCost = UNSET


class ApiUsageEntry(ReplyData, frozen=True):
    """Tokens of one model, with both spellings of its name: the document's and the front end's.

    ``cost`` and ``days`` are additions.
    """

    model_name: str
    front_end_model_name: str = field(name="model_name")
    input_tokens: int = field(name="input_token")
    output_tokens: int = field(name="output_token")
    total_tokens: int = field(name="total_token")
    cost: TokenCost
    days: list[DayUsageEntry]


class RepoUsageEntry(ReplyData, frozen=True):
    """Tokens of one model for one repository."""

    repo_name: str
    model_name: str
    input_tokens: int = field(name="input_token")
    output_tokens: int = field(name="output_token")
    cost: TokenCost = UNSET


class GetApiUsageReply(ReplyData, frozen=True):
    """One entry per model, by name; ``repos``, if wanted, has all repositories."""

    api_usage: list[ApiUsageEntry]
    repos: list[RepoUsageEntry] | UnsetType = UNSET


def compute_token_cost(price: Price | None, input_tokens: int, output_tokens: int) -> TokenCost:
    """What tokens cost, where a price is known."""
    return round(price.compute_cost(input_tokens, output_tokens), COST_DIGITS) if price else UNSET
