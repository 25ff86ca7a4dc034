"""Conversation messages.

Asking, stopping, listing and deleting conversations, the streamed parts of an answer, and API
usage.
"""

from collections.abc import Iterable

from msgspec import UNSET, UnsetType, field

from codekernel.domain import turn_events as happened
from codekernel.domain.turn import Citation, Excerpt, Price, TokenUsage
from codekernel.protocol.envelope import ConversationId, Message, ReplyData
from codekernel.protocol.messages.agent import ChangeEntry, build_change_entries

SCORE_DIGITS = 4

COST_DIGITS = 6


class BeginConversation(Message, frozen=True, tag="beginConversation"):
    """Ask a question; the answer is streamed as replies to this one request."""

    model_name: str
    conversation_id: ConversationId
    query: str


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
    time: int
    turns: int
    unsaved: bool = False
    damaged: str = ""


class DamagedFileEntry(ReplyData, frozen=True):
    """A file that cannot be read whole, and why."""

    file: str
    reason: str


class GetConversationsReply(ReplyData, frozen=True, omit_defaults=True):
    """Newest first; ``damaged`` are files of any repository."""

    conversations: list[ConversationEntry]
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
    file_path: str
    score: float = 0.0
    chunk_id: int = 0
    highlighted_content: str = ""


class CitationEntry(ReplyData, frozen=True, omit_defaults=True):
    """A place that the answer names: lines from 1, the last included, as the answer has them."""

    text: str
    file_path: str
    begin: int
    end: int
    state: str
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


class GetApiUsage(Message, frozen=True, tag="getApiUsage"):
    """Ask what the chat models have used for the open repository."""


class DayUsageEntry(ReplyData, frozen=True):
    """Tokens of one model on one day, and their cost where the settings know the price."""

    day: str
    input_tokens: int = field(name="input_token")
    output_tokens: int = field(name="output_token")
    cost: float | UnsetType = UNSET


class ApiUsageEntry(ReplyData, frozen=True):
    """Tokens of one model, with both spellings of its name: the document's and the front end's.

    ``cost`` and ``days`` are additions.
    """

    model_name: str
    front_end_model_name: str = field(name="model_name")
    input_tokens: int = field(name="input_token")
    output_tokens: int = field(name="output_token")
    total_tokens: int = field(name="total_token")
    cost: float | UnsetType
    days: list[DayUsageEntry]


class GetApiUsageReply(ReplyData, frozen=True):
    """One entry per model, by name."""

    api_usage: list[ApiUsageEntry]


def build_result_content(excerpt: Excerpt) -> ResultContent:
    """An excerpt as the front end and the history have it."""
    return ResultContent(
        content=excerpt.content,
        metadata=excerpt.metadata,
        begin_line=excerpt.begin_line,
        end_line=excerpt.end_line,
        file_path=excerpt.path,
        score=round(excerpt.score, SCORE_DIGITS),
        chunk_id=excerpt.chunk_id,
        highlighted_content=excerpt.highlighted,
    )


def build_citation_entries(citations: Iterable[Citation]) -> list[CitationEntry]:
    """Citations as the front end and the history have them."""
    return [
        CitationEntry(
            text=each.text,
            file_path=each.path,
            begin=each.begin,
            end=each.end,
            state=each.holds.value,
            reason=each.reason,
            now_begin=each.now_begin,
            now_end=each.now_end,
        )
        for each in citations
    ]


def build_spent_entry(spent: TokenUsage) -> SpentEntry:
    """Tokens as the front end and the history have them."""
    return SpentEntry(
        input_tokens=spent.input_tokens, output_tokens=spent.output_tokens, exact=spent.exact
    )


def build_conversation_part(event: happened.ReplyEvent) -> ConversationPart:
    """An event of a turn as it is told."""
    match event:
        case happened.RetrievalAnnotated(purpose):
            return ConversationPart(type="annotation", content=purpose)
        case happened.SearchIssued(query):
            return ConversationPart(type="search", content=query)
        case happened.ExcerptRetrieved(excerpt):
            return ConversationPart(type="result", content=build_result_content(excerpt))
        case happened.RetrievalDone():
            return ConversationPart(type="doneRetrieval")
        case happened.AnswerDelta(text):
            return ConversationPart(type="answer", content=text)
        case happened.TurnDone(outcome, citations, masked, spent, worked, unsaved):
            return ConversationPart(
                type="done",
                outcome=outcome.value,
                citations=build_citation_entries(citations),
                masked=masked,
                usage=build_spent_entry(spent),
                time=worked.time_ms if worked else UNSET,
                changes=build_change_entries(worked.changes) if worked else UNSET,
                unsaved=unsaved or UNSET,
            )


def compute_token_cost(
    price: Price | None, input_tokens: int, output_tokens: int
) -> float | UnsetType:
    """What tokens cost, where a price is known."""
    if price is None:
        return UNSET
    return round(price.compute_cost(input_tokens, output_tokens), COST_DIGITS)
