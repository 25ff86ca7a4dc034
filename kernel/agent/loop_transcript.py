"""What has been said between a person, a model and its tools; secrets are masked as they come."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from kernel.domain.chat import ChatMessage, Role, ToolCall
from kernel.domain.safe_json import parse_json
from kernel.masking.masker import MARK, MaskedText, mask_secrets

# What lies beyond a cut and may belong to a secret before it: the longest of them are keys in PEM.
_MARGIN = 4_000
_STOPPED = "This call was cut off; nobody knows what it has done."


@dataclass(slots=True)
class Transcript:
    """Grows by one message at a time; ``secrets`` counts those that were kept back."""

    messages: list[ChatMessage] = field(default_factory=list)
    secrets: int = 0

    def asked(self, text: str) -> None:
        """The person, or we in the person's place, said this."""
        safe = mask_secrets(text)
        self.secrets += safe.count
        self.messages.append(ChatMessage(Role.USER, safe.text))

    def replied(self, text: str, calls: tuple[ToolCall, ...]) -> None:
        """The model said this and wants these tools."""
        self.messages.append(ChatMessage(Role.ASSISTANT, text, calls))

    def returned(self, call: ToolCall, text: str, longest: int) -> None:
        """A tool answered; the middle of what is too long is left out."""
        safe = _mask_and_cut(text, longest)
        self.secrets += safe.count
        self.messages.append(ChatMessage(Role.TOOL, safe.text, tool_call_id=call.id))

    def close(self) -> None:
        """Answer the calls that nobody will answer any more: no model goes on without."""
        answered = {message.tool_call_id for message in self.messages}
        for message in tuple(self.messages):
            for call in message.tool_calls:
                if call.id not in answered:
                    self.messages.append(ChatMessage(Role.TOOL, _STOPPED, tool_call_id=call.id))

    def named(self, calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
        """The calls under names that no call of this transcript has: servers count from 0 again."""
        taken = {call.id for message in self.messages for call in message.tool_calls}
        named: list[ToolCall] = []
        for call in calls:
            name, number = call.id or "call", len(taken)
            while name in taken or (not call.id and name == "call"):
                number += 1
                name = f"{call.id or 'call'}_{number}"
            taken.add(name)
            named.append(replace(call, id=name))
        return tuple(named)

    def writes_mask(self, call: ToolCall) -> bool:
        """Whether a call would put our mark in the place of a secret."""
        return bool(self.secrets) and MARK in call.arguments


def as_text(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """The same for a model without tools: calls as blocks, results as what the person says."""
    names = {call.id: call.name for message in messages for call in message.tool_calls}
    told: list[ChatMessage] = []
    for message in messages:
        if message.role is Role.TOOL:
            name = names.get(message.tool_call_id, "tool")
            result = f"Result of {name}:\n{message.content}"
            if told and told[-1].role is Role.USER:
                told[-1] = replace(told[-1], content=f"{told[-1].content}\n\n{result}")
            else:
                told.append(ChatMessage(Role.USER, result))
        else:
            blocks = "".join(map(_block, message.tool_calls))
            told.append(ChatMessage(message.role, f"{message.content}{blocks}"))
    return told


def _block(call: ToolCall) -> str:
    try:
        arguments = parse_json(call.arguments or "{}")
    except ValueError:
        arguments = call.arguments
    body = json.dumps({"name": call.name, "arguments": arguments}, ensure_ascii=False)
    return f"\n```tool\n{body}\n```"


def _mask_and_cut(text: str, longest: int) -> MaskedText:
    """Mask before the cut: half a key is not known for one."""
    if len(text) <= longest:
        return mask_secrets(text)
    first, last = longest * 2 // 3, longest // 3
    head, tail = mask_secrets(text[: first + _MARGIN]), mask_secrets(text[-last - _MARGIN :])
    left_out = len(text) - first - last
    shown = (
        f"{head.text[:first]}\n[... {left_out} characters left out; ask for a part ...]\n"
        f"{tail.text[-last:]}"
    )
    return MaskedText(shown, head.count + tail.count)
