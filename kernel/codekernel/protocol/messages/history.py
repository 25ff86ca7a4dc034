"""What is kept of conversations: the history as its file has it, and what their models used."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from codekernel.domain.settings import Price
from codekernel.protocol.envelope import ConversationId, Message, ReplyData
from codekernel.protocol.messages.agent_turns import AgentEntry
from codekernel.protocol.messages.conversation import CitationEntry, ResultContent, SpentEntry


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
