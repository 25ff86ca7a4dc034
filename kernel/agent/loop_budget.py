"""An agent's transcript within what its model can read: old results give way first.

What is shortened stays so, and by more than was needed, so that the beginning of the next requests
is the same and an endpoint can remember it.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

from kernel.conversation.budget import MESSAGE_TOKENS, Budget
from kernel.domain.chat import ChatMessage, Role, ToolCall

# Of the budget, after something had to be shortened.
_SHARE_AFTER = 0.7
# Characters that are left of an old result, and of an old text.
_RESULT_CHARACTERS = 300
_TEXT_CHARACTERS = 2_000
# A token has more characters than that in any text that a tool returns.
_CHARACTERS_OF_TOKEN = 2


def longest_result(budget: Budget) -> int:
    """The most characters that one result may have, so that a second one still fits."""
    return max(_TEXT_CHARACTERS, budget.tokens * _CHARACTERS_OF_TOKEN // 3)


def fitted(
    messages: Sequence[ChatMessage], fixed: Sequence[str], budget: Budget
) -> list[ChatMessage]:
    """The messages, shortened from the oldest on if they do not fit beside ``fixed``."""
    kept = list(messages)
    if budget.holds([*fixed, *map(_text, kept)]):
        return kept
    room = budget.left(fixed)
    wanted = int(room * _SHARE_AFTER)
    costs = [_cost(message, budget) for message in kept]
    total = sum(costs)
    last = _last_round(kept)
    for index in (*range(last), *range(last, len(kept))):
        if total <= (wanted if index < last else room):
            break
        kept[index] = _shortened(kept[index])
        total += (cost := _cost(kept[index], budget)) - costs[index]
        costs[index] = cost
    return kept if total <= room else _without_oldest(kept, costs, wanted)


def _without_oldest(
    messages: list[ChatMessage], costs: Sequence[int], wanted: int
) -> list[ChatMessage]:
    """Whole rounds are forgotten where shortening was not enough; never the task, nor the last."""
    total, kept = sum(costs), list[ChatMessage]()
    last = _last_round(messages)
    is_forgotten = False
    for index, message in enumerate(messages):
        if message.role is not Role.TOOL:
            is_forgotten = total > wanted and index < last and message.role is Role.ASSISTANT
        if is_forgotten:
            total -= costs[index]
        else:
            kept.append(message)
    return kept


def _last_round(messages: Sequence[ChatMessage]) -> int:
    """Where the model spoke last."""
    places = [index for index, it in enumerate(messages) if it.role is Role.ASSISTANT]
    return places[-1] if places else len(messages)


def _shortened(message: ChatMessage) -> ChatMessage:
    if message.role is Role.USER:
        return message
    longest = _RESULT_CHARACTERS if message.role is Role.TOOL else _TEXT_CHARACTERS
    return replace(
        message,
        content=_short(message.content, longest),
        tool_calls=tuple(map(_short_call, message.tool_calls)),
    )


def _short(text: str, longest: int) -> str:
    note = f"\n[shortened: {len(text)} characters; call the tool again if you need them]"
    return text if len(text) <= longest + len(note) else text[:longest] + note


def _short_call(call: ToolCall) -> ToolCall:
    if len(call.arguments) <= _TEXT_CHARACTERS:
        return call
    note = json.dumps({"shortened": f"{len(call.arguments)} characters"})
    return replace(call, arguments=note)


def _cost(message: ChatMessage, budget: Budget) -> int:
    return budget.count(_text(message)) + MESSAGE_TOKENS


def _text(message: ChatMessage) -> str:
    return "\n".join((message.content, *(call.arguments for call in message.tool_calls)))
