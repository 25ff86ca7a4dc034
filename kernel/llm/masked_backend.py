"""The last gate before a chat model: no message of any request leaves with a secret in it.

Retrieved text and tool results are masked and counted where they come from, before they are
numbered, cut or quoted. This gate sees everything else as well: questions, earlier turns, names of
files, the arguments of calls that are told again.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kernel.domain.cancel import CancelToken
from kernel.domain.chat import ChatBackend, ChatEvent, ChatMessage, ChatRequest, Role, ToolCall
from kernel.masking.masker import mask_repeated


class MaskedBackend:
    """A chat model that is never told a secret; else the model itself."""

    def __init__(self, backend: ChatBackend) -> None:
        self._backend = backend

    @property
    def model_name(self) -> str:
        """The name that usage is recorded under."""
        return self._backend.model_name

    @property
    def calls_tools(self) -> bool:
        """Whether tools may be given."""
        return self._backend.calls_tools

    @property
    def context_tokens(self) -> int | None:
        """How much the model can read and write at once."""
        return self._backend.context_tokens

    def stream(self, request: ChatRequest, cancel: CancelToken) -> Iterator[ChatEvent]:
        """Answer piece by piece."""
        return self._backend.stream(mask_request(request), cancel)

    def count_tokens(self, text: str) -> int:
        """Tokens of a text."""
        return self._backend.count_tokens(text)

    def close(self) -> None:
        """Close the model."""
        self._backend.close()


def mask_request(request: ChatRequest) -> ChatRequest:
    """Return the request without secrets; what we say ourselves, the system message, has none."""
    return replace(request, messages=tuple(map(_mask_message, request.messages)))


def _mask_message(message: ChatMessage) -> ChatMessage:
    if message.role is Role.SYSTEM:
        return message
    content = mask_repeated(message.content)
    calls = tuple(map(_mask_call, message.tool_calls))
    if not content.count and calls == message.tool_calls:
        return message
    return replace(message, content=content.text, tool_calls=calls)


def _mask_call(call: ToolCall) -> ToolCall:
    """Mask the values, so that the arguments stay the JSON that a provider insists on."""
    try:
        value = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return replace(call, arguments=mask_repeated(call.arguments).text)
    masked = _mask_value(value)
    if masked == value:
        return call
    return replace(call, arguments=json.dumps(masked, ensure_ascii=False))


def _mask_value(value: Any) -> Any:
    if isinstance(value, str):
        return mask_repeated(value).text
    if isinstance(value, list):
        return [_mask_value(each) for each in value]
    if isinstance(value, dict):
        return {name: _mask_named(name, each) for name, each in value.items()}
    return value


def _mask_named(name: str, value: Any) -> Any:
    """Mask the value of a field, which may be told only by the name of the field."""
    if not isinstance(value, str) or mask_repeated(value).count:
        return _mask_value(value)
    pair = mask_repeated(json.dumps({name: value}, ensure_ascii=False))
    if not pair.count:
        return value
    try:
        return json.loads(pair.text).get(name, value)
    except ValueError:
        return value
