"""Messages of what the chat models have used, in tokens and, where a price is known, in money."""

from msgspec import UNSET, UnsetType, field

from codekernel.domain.settings import Price
from codekernel.protocol.envelope import Message, ReplyData

COST_DIGITS = 6

TokenCost = float | UnsetType


class GetApiUsage(Message, frozen=True, tag="getApiUsage"):
    """Ask what the chat models have used for the open repository."""


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


class GetApiUsageReply(ReplyData, frozen=True):
    """One entry per model, by name."""

    api_usage: list[ApiUsageEntry]


def compute_token_cost(price: Price | None, input_tokens: int, output_tokens: int) -> TokenCost:
    """What tokens cost, where a price is known."""
    return round(price.compute_cost(input_tokens, output_tokens), COST_DIGITS) if price else UNSET
