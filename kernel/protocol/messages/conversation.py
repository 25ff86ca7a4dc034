"""Conversations about a repository, and what they cost."""

from msgspec import field

from kernel.protocol.message import Data, Message


class BeginConversation(Message, frozen=True, tag="beginConversation"):
    """Ask a question; the answer is streamed as replies to this one request."""

    model_name: str
    conversation_id: int
    query: str


class StopConversation(Message, frozen=True, tag="stopConversation"):
    """End a running answer; what was shown is kept."""

    conversation_id: int


class GetApiUsage(Message, frozen=True, tag="getApiUsage"):
    """Ask what the chat models have used for the open repository."""


class ApiUsageEntry(Data, frozen=True):
    """Tokens of one model, with both spellings of its name: the document's and the front end's."""

    model_name: str
    front_end_model_name: str = field(name="model_name")
    input_tokens: int = field(name="input_token")
    output_tokens: int = field(name="output_token")
    total_tokens: int = field(name="total_token")


class GetApiUsageReply(Data, frozen=True):
    """One entry per model, by name."""

    api_usage: list[ApiUsageEntry]
