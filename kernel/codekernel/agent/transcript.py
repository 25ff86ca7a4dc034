"""The chat messages of one agent session.

Secrets are masked as messages are added, and old tool results are truncated or dropped to fit
the model's token budget.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from codekernel.domain.chat import ChatMessage, ChatToolCall, Role
from codekernel.domain.untrusted_text import parse_json
from codekernel.loop.loop import MESSAGE_OVERHEAD_TOKENS, TokenBudget
from codekernel.masking.masker import MASK_PREFIX, MaskedText, mask_secrets

# What lies beyond a cut and may belong to a secret before it: the longest of them are keys in PEM.
_MASK_MARGIN_CHARACTERS = 4_000

_CALL_CUT_OFF = "This call was cut off; nobody knows what it has done."


@dataclass(slots=True)
class Transcript:
    """The messages of a session; ``secret_count`` are the secrets that were masked in them."""

    messages: list[ChatMessage] = field(default_factory=list)
    secret_count: int = 0

    def add_user_message(self, text: str) -> None:
        """Add a message of the user, or a reminder in the user's place."""
        safe = mask_secrets(text)
        self.secret_count += safe.count
        self.messages.append(ChatMessage(Role.USER, safe.text))

    def add_reply(self, text: str, calls: tuple[ChatToolCall, ...]) -> None:
        """Add a reply of the model with its tool calls."""
        self.messages.append(ChatMessage(Role.ASSISTANT, text, calls))

    def add_tool_result(self, call: ChatToolCall, text: str, max_characters: int) -> None:
        """Add the result of a call; the middle of a long one is left out."""
        safe = _mask_and_truncate(text, max_characters)
        self.secret_count += safe.count
        self.messages.append(ChatMessage(Role.TOOL, safe.text, tool_call_id=call.id))

    def close_open_calls(self) -> None:
        """Answer the calls that were cut off: models reject a call without a result."""
        answered = {message.tool_call_id for message in self.messages}
        calls = [call for message in self.messages for call in message.tool_calls]
        self.messages += [
            ChatMessage(Role.TOOL, _CALL_CUT_OFF, tool_call_id=call.id)
            for call in calls
            if call.id not in answered
        ]

    def assign_call_ids(self, calls: Iterable[ChatToolCall]) -> tuple[ChatToolCall, ...]:
        """Return the calls with ids unique in this transcript: servers count from 0 again."""
        taken = {call.id for message in self.messages for call in message.tool_calls}
        named: list[ChatToolCall] = []
        for call in calls:
            name, number = call.id or "call", len(taken)
            while name in taken or (not call.id and name == "call"):
                number += 1
                name = f"{call.id or 'call'}_{number}"
            taken.add(name)
            named.append(replace(call, id=name))
        return tuple(named)

    def has_mask_in(self, call: ChatToolCall) -> bool:
        """Return whether a call would write a mask in the place of a secret."""
        return bool(self.secret_count) and MASK_PREFIX in call.arguments


def convert_to_text_messages(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return the messages for a model without tools: calls as blocks, results as user text."""
    names = {call.id: call.name for message in messages for call in message.tool_calls}
    converted: list[ChatMessage] = []
    for message in messages:
        if message.role is Role.TOOL:
            name = names.get(message.tool_call_id, "tool")
            result = f"Result of {name}:\n{message.content}"
            if converted and converted[-1].role is Role.USER:
                result = f"{converted.pop().content}\n\n{result}"
            converted.append(ChatMessage(Role.USER, result))
        else:
            blocks = "".join(map(_format_call_block, message.tool_calls))
            converted.append(ChatMessage(message.role, f"{message.content}{blocks}"))
    return converted


def _format_call_block(call: ChatToolCall) -> str:
    try:
        arguments = parse_json(call.arguments or "{}")
    except ValueError:
        arguments = call.arguments
    body = json.dumps({"name": call.name, "arguments": arguments}, ensure_ascii=False)
    return f"\n```tool\n{body}\n```"


def _mask_and_truncate(text: str, max_characters: int) -> MaskedText:
    """Mask, then truncate: half a key would not be recognised as one."""
    if len(text) <= max_characters:
        return mask_secrets(text)
    first, last = max_characters * 2 // 3, max_characters // 3
    head = mask_secrets(text[: first + _MASK_MARGIN_CHARACTERS])
    tail = mask_secrets(text[-last - _MASK_MARGIN_CHARACTERS :])
    left_out = len(text) - first - last
    shown = (
        f"{head.text[:first]}\n[... {left_out} characters left out; ask for a part ...]\n"
        f"{tail.text[-last:]}"
    )
    return MaskedText(shown, head.count + tail.count)


# Of the budget, after something had to be shortened.
_BUDGET_SHARE_AFTER_TRUNCATION = 0.7

# Characters that are left of an old result, and of an old text.
_MAX_OLD_RESULT_CHARACTERS = 300

_MAX_OLD_TEXT_CHARACTERS = 2_000

# A token has more characters than that in any text that a tool returns.
_MIN_CHARACTERS_PER_TOKEN = 2


def compute_max_result_characters(budget: TokenBudget) -> int:
    """Return the most characters of one result, so that a second one still fits."""
    return max(_MAX_OLD_TEXT_CHARACTERS, budget.max_tokens * _MIN_CHARACTERS_PER_TOKEN // 3)


def fit_to_budget(
    messages: Sequence[ChatMessage], fixed: Sequence[str], budget: TokenBudget
) -> list[ChatMessage]:
    """Return the messages, the oldest truncated first if they do not fit beside ``fixed``."""
    kept = list(messages)
    if budget.can_fit([*fixed, *map(_get_message_text, kept)]):
        return kept
    room = budget.count_remaining(fixed)
    wanted = int(room * _BUDGET_SHARE_AFTER_TRUNCATION)
    costs = [_count_message_tokens(message, budget) for message in kept]
    total = sum(costs)
    last = _find_last_round(kept)
    for index in range(len(kept)):
        if total <= (wanted if index < last else room):
            break
        kept[index] = _truncate_message(kept[index])
        total += (cost := _count_message_tokens(kept[index], budget)) - costs[index]
        costs[index] = cost
    return kept if total <= room else _drop_oldest_rounds(kept, costs, wanted)


def _drop_oldest_rounds(
    messages: list[ChatMessage], costs: Sequence[int], wanted: int
) -> list[ChatMessage]:
    """Drop whole rounds where truncating was not enough; never the task, nor the last round."""
    total, kept, is_forgotten = sum(costs), list[ChatMessage](), False
    last = _find_last_round(messages)
    for index, message in enumerate(messages):
        if message.role is not Role.TOOL:
            is_forgotten = total > wanted and index < last and message.role is Role.ASSISTANT
        if is_forgotten:
            total -= costs[index]
        else:
            kept.append(message)
    return kept


def _find_last_round(messages: Sequence[ChatMessage]) -> int:
    """Return the index of the model's last reply."""
    places = [index for index, it in enumerate(messages) if it.role is Role.ASSISTANT]
    return places[-1] if places else len(messages)


def _truncate_message(message: ChatMessage) -> ChatMessage:
    if message.role is Role.USER:
        return message
    longest = _MAX_OLD_RESULT_CHARACTERS if message.role is Role.TOOL else _MAX_OLD_TEXT_CHARACTERS
    return replace(
        message,
        content=_truncate_text(message.content, longest),
        tool_calls=tuple(map(_truncate_call, message.tool_calls)),
    )


def _truncate_text(text: str, max_characters: int) -> str:
    note = f"\n[shortened: {len(text)} characters; call the tool again if you need them]"
    return text if len(text) <= max_characters + len(note) else text[:max_characters] + note


def _truncate_call(call: ChatToolCall) -> ChatToolCall:
    if len(call.arguments) <= _MAX_OLD_TEXT_CHARACTERS:
        return call
    note = json.dumps({"shortened": f"{len(call.arguments)} characters"})
    return replace(call, arguments=note)


def _count_message_tokens(message: ChatMessage, budget: TokenBudget) -> int:
    return budget.count_tokens(_get_message_text(message)) + MESSAGE_OVERHEAD_TOKENS


def _get_message_text(message: ChatMessage) -> str:
    return "\n".join((message.content, *(call.arguments for call in message.tool_calls)))
