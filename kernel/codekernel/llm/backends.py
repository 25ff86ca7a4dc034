"""Open a chat backend, behind a url or from a .gguf file.

Mask the secrets of every request to a remote one. Retrieved text and tool results are masked
and counted earlier; this last step covers questions, earlier turns, file names and repeated
tool arguments.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from codekernel.domain.chat import (
    ChatBackend,
    ChatEvent,
    ChatMessage,
    ChatRequest,
    ChatToolCall,
    Role,
)
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import GenerationModel, Performance
from codekernel.llm.endpoint import ChatEndpoint, resolve_chat_url, resolve_ollama_url
from codekernel.llm.http_client import HttpConnectionPool
from codekernel.llm.providers.base import ENDPOINT_REGISTRY, ChatProvider
from codekernel.llm.providers.gguf import find_gguf, read_context_length
from codekernel.llm.providers.llama_cpp import LlamaCppBackend, require_llama_cpp
from codekernel.llm.providers.ollama import MAX_CONTEXT_SIZE, OllamaProvider
from codekernel.llm.providers.openai import OpenAiProvider
from codekernel.llm.remote_backend import CachedTokenCounter, RemoteBackend
from codekernel.llm.retry import ChatTimeouts, make_socket_timeouts
from codekernel.masking.masker import mask_secrets_cached


class MaskedBackend:
    """A chat model that is never told a secret; else the model itself."""

    def __init__(self, backend: ChatBackend) -> None:
        self._backend = backend

    @property
    def model_name(self) -> str:
        """The name that usage is recorded under."""
        return self._backend.model_name

    @property
    def supports_tools(self) -> bool:
        """Whether tools may be given."""
        return self._backend.supports_tools

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
    """Mask the value of a field, which may be told only by the name of the field."""
    if not isinstance(value, str) or mask_secrets_cached(value).count:
        return _mask_value(value)
    pair = mask_secrets_cached(json.dumps({name: value}, ensure_ascii=False))
    if not pair.count:
        return value
    try:
        return json.loads(pair.text).get(name, value)
    except ValueError:
        return value


def open_remote_backend(
    model: GenerationModel,
    api_key: str,
    count_tokens: Callable[[str], int],
    timeouts: ChatTimeouts | None = None,
) -> ChatBackend:
    """Open the model behind a url; nothing is sent yet. Raises WrongParam for an impossible url.

    Worth keeping for the next question: its connections stay open.
    """
    timeouts = timeouts or ChatTimeouts()
    counter = CachedTokenCounter(count_tokens)
    own_api = resolve_ollama_url(model.url)
    endpoint = ChatEndpoint(own_api or resolve_chat_url(model.url), model.model_name, api_key)
    traits = ENDPOINT_REGISTRY.get_capabilities(endpoint.url, endpoint.model_name)
    dialect: ChatProvider = OpenAiProvider()
    if own_api is not None:
        dialect = OllamaProvider(counter.count_request)
        traits.context_tokens = traits.context_tokens or MAX_CONTEXT_SIZE
    connections = HttpConnectionPool(make_socket_timeouts(timeouts))
    connections.warm_up()
    return MaskedBackend(
        RemoteBackend(
            endpoint,
            provider=dialect,
            capabilities=traits,
            counter=counter,
            connections=connections,
            timeouts=timeouts,
        )
    )


def open_local_backend(path: Path, performance: Performance, *, name: str = "") -> ChatBackend:
    """Open a .gguf file, or the folder of one; it is loaded in the background.

    Raises InvalidModel if there is none, or if the package that runs it is not installed.
    """
    file = find_gguf(path)
    context = read_context_length(file)
    require_llama_cpp()
    return LlamaCppBackend(
        file, name=name or file.stem, performance=performance, context_length=context
    )
