"""A chat request in the JSON of OpenAI's API and of those that imitate it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from kernel.domain.chat import ChatMessage, ChatRequest, Role, ToolCall, ToolSpec
from kernel.domain.safe_json import parse_json
from kernel.llm.traits import Traits

# An agent sends all its calls again in each round.
_REMEMBERED_CALLS = 512


def openai_payload(model_name: str, request: ChatRequest, traits: Traits) -> dict[str, Any]:
    """Build the body of a streamed request, without what the endpoint has refused before."""
    payload: dict[str, Any] = {
        "model": model_name,
        "messages": [_message(message) for message in alternating(request.messages)],
        "stream": True,
    }
    if traits.counts_in_stream:
        payload["stream_options"] = {"include_usage": True}
    if request.tools:
        payload["tools"] = [tool_json(tool) for tool in request.tools]
    if request.max_tokens is not None:
        payload[traits.answer_limit_name] = request.max_tokens
    if request.stop and traits.takes_stop_words:
        payload["stop"] = list(request.stop)
    return payload


def alternating(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """The same messages, with what a person said in a row as one: many chat templates insist."""
    told: list[ChatMessage] = []
    for message in messages:
        if told and message.role is told[-1].role is Role.USER:
            told[-1] = replace(told[-1], content=f"{told[-1].content}\n\n{message.content}")
        else:
            told.append(message)
    return told


def tool_json(tool: ToolSpec) -> dict[str, Any]:
    """Describe a tool; every family of endpoints took over this form."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.parameters),
        },
    }


def arguments_object(call: ToolCall) -> dict[str, Any]:
    """Read the arguments of a call; empty if the model broke them.

    Servers parse them again when they are sent back, and refuse the whole request over a comma.
    """
    return _object(call.arguments)


def _message(message: ChatMessage) -> dict[str, Any]:
    said: dict[str, Any] = {"role": message.role.value, "content": message.content}
    if message.tool_calls:
        said["tool_calls"] = [_call(call) for call in message.tool_calls]
    if message.role is Role.TOOL:
        said["tool_call_id"] = message.tool_call_id
    return said


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": _sound(call.arguments)},
    }


@lru_cache(maxsize=_REMEMBERED_CALLS)
def _sound(arguments: str) -> str:
    """The same arguments as JSON that every server can read."""
    return json.dumps(_object(arguments), ensure_ascii=False)


def _object(arguments: str) -> dict[str, Any]:
    try:
        value = parse_json(arguments)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
