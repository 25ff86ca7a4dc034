"""Mask the secrets of every request to a remote model.

Retrieved text and tool results are masked and counted earlier; this last step covers questions,
earlier turns, file names and repeated tool arguments.
"""

import json
from dataclasses import replace
from typing import Any

from codekernel.domain.chat import ChatMessage, ChatRequest, ChatToolCall, Role
from codekernel.masking.masker import mask_secrets_cached


def mask_request(request: ChatRequest) -> ChatRequest:
    """Return the request without secrets; the system message is ours and has none."""
    return replace(request, messages=tuple(map(_mask_message, request.messages)))


def _mask_message(message: ChatMessage) -> ChatMessage:
    if message.role is Role.SYSTEM:
        return message
    content = mask_secrets_cached(message.content)
    calls = tuple(map(_mask_call, message.tool_calls))
    if not content.count and calls == message.tool_calls:
        return message
    return replace(message, content=content.text, tool_calls=calls)


def _mask_call(call: ChatToolCall) -> ChatToolCall:
    """Mask the values, so that the arguments stay the JSON that a provider insists on."""
    try:
        value = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return replace(call, arguments=mask_secrets_cached(call.arguments).text)
    masked = _mask_value(value)
    if masked == value:
        return call
    return replace(call, arguments=json.dumps(masked, ensure_ascii=False))


def _mask_value(value: Any) -> Any:
    if isinstance(value, str):
        return mask_secrets_cached(value).text
    if isinstance(value, list):
        return [_mask_value(each) for each in value]
    if isinstance(value, dict):
        return {name: _mask_field(name, each) for name, each in value.items()}
    return value


def _mask_field(name: str, value: Any) -> Any:
    """Mask the value of a field, which only the name of the field may show to be a secret."""
    if not isinstance(value, str) or mask_secrets_cached(value).count:
        return _mask_value(value)
    pair = mask_secrets_cached(json.dumps({name: value}, ensure_ascii=False))
    if not pair.count:
        return value
    try:
        return json.loads(pair.text).get(name, value)
    except ValueError:
        return value
