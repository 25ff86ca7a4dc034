"""A chat model behind a url.

Mask the secrets of a request and send it, decode the stream, adapt to what the endpoint refuses,
and count the tokens used (by the provider, else by a cached tokenizer).
"""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import httpx

from codekernel.domain.chat import (
    ChatBackend,
    ChatEvent,
    ChatMessage,
    ChatRequest,
    ChatToolCall,
    Role,
    TokensUsed,
)
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import GenerationModel
from codekernel.errors import Cancelled, NetworkError
from codekernel.llm.http_client import HttpConnectionPool, resolve_chat_url, resolve_ollama_url
from codekernel.llm.http_request import (
    MAX_STREAM_BYTES,
    ChatEndpoint,
    ChatTimeouts,
    EndpointResponse,
    StreamingRequest,
    make_socket_timeouts,
)
from codekernel.llm.network_errors import explain_truncated
from codekernel.llm.providers.base import (
    ENDPOINT_CAPABILITIES,
    BuildPayload,
    EndpointCapabilities,
    InvalidBodyError,
    ReplyDecoder,
    ReportedError,
)
from codekernel.llm.providers.ollama import MAX_CONTEXT_SIZE, OllamaDecoder, OllamaPayloads
from codekernel.llm.providers.openai import OpenAiDecoder, build_openai_payload, build_tool_json
from codekernel.llm.response_errors import (
    explain_unexpected_body,
    learn_capabilities,
    make_endpoint_error,
)
from codekernel.masking.masker import list_request_secrets, mask_secrets_cached

# The rounds of a conversation repeat most of what was sent before; 4,096 counts take under 1 MB.
TOKEN_CACHE_SIZE = 4096

# What a chat template puts around each message: its role and its start and end markers.
TEMPLATE_TOKENS_PER_MESSAGE = 4


def open_remote_backend(
    model: GenerationModel,
    api_key: str,
    count_tokens: Callable[[str], int],
    timeouts: ChatTimeouts | None = None,
) -> ChatBackend:
    """Open the model behind a url; nothing is sent yet. Raises WrongParam for an impossible url.

    Keep it for the next question: its connections stay open.
    """
    timeouts = timeouts or ChatTimeouts()
    counter = CachedTokenCounter(count_tokens)
    ollama_url = resolve_ollama_url(model.url)
    endpoint = ChatEndpoint(ollama_url or resolve_chat_url(model.url), model.model_name, api_key)
    capabilities = ENDPOINT_CAPABILITIES[endpoint.url, endpoint.model_name]
    build_payload: BuildPayload = build_openai_payload
    make_decoder: Callable[[], ReplyDecoder] = OpenAiDecoder
    if ollama_url is not None:
        build_payload = OllamaPayloads(counter.count_request).build_payload
        make_decoder = OllamaDecoder
        capabilities.context_tokens = capabilities.context_tokens or MAX_CONTEXT_SIZE
    connections = HttpConnectionPool(make_socket_timeouts(timeouts))
    connections.warm_up()
    return RemoteBackend(
        endpoint,
        build_payload,
        make_decoder,
        capabilities,
        counter,
        connections,
        timeouts,
        masks_secrets=True,
    )


class CachedTokenCounter:
    """Caches counts by the hash of a text, so that a large text is not kept alive."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._cache: dict[bytes, int] = {}  # the one used last comes last
        self._lock = threading.Lock()

    def count_text(self, text: str) -> int:
        """Count the tokens of a text."""
        if not text:
            return 0
        key = blake2b(text.encode("utf-8", errors="replace"), digest_size=16).digest()
        with self._lock:
            known = self._cache.pop(key, None)
        counted = self._count(text) if known is None else known
        with self._lock:
            self._cache[key] = counted
            if len(self._cache) > TOKEN_CACHE_SIZE:
                del self._cache[next(iter(self._cache))]
        return counted

    def count_request(self, request: ChatRequest) -> int:
        """Count the tokens of everything that is sent."""
        messages = sum(
            TEMPLATE_TOKENS_PER_MESSAGE
            + self.count_text(message.content)
            + sum(self.count_text(f"{call.name} {call.arguments}") for call in message.tool_calls)
            for message in request.messages
        )
        return messages + sum(
            self.count_text(json.dumps(build_tool_json(tool))) for tool in request.tools
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RemoteBackend:
    """A ``ChatBackend``; what differs between endpoints is in its parts."""

    endpoint: ChatEndpoint
    build_payload: BuildPayload
    make_decoder: Callable[[], ReplyDecoder]
    capabilities: EndpointCapabilities
    counter: CachedTokenCounter
    connections: HttpConnectionPool
    timeouts: ChatTimeouts
    masks_secrets: bool = False
    max_stream_bytes: int = MAX_STREAM_BYTES

    @property
    def model_name(self) -> str:
        """Return the name that usage is recorded under."""
        return self.endpoint.model_name

    @property
    def supports_tools(self) -> bool:
        """Return whether tools may be given; false once the endpoint has refused them."""
        return self.capabilities.supports_tools

    @property
    def context_tokens(self) -> int | None:
        """Return the context size of the model; None until an error has named it."""
        return self.capabilities.context_tokens

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text."""
        return self.counter.count_text(text)

    def close(self) -> None:
        """Close idle connections now, and the others when their answers end."""
        self.connections.close()

    def stream(self, request: ChatRequest, cancel: CancelToken) -> Iterator[ChatEvent]:
        """Yield the reply; repeat the request without options that the endpoint refuses."""
        if self.masks_secrets:
            request = mask_request(request)
        while True:
            payload = self.build_payload(self.model_name, request, self.capabilities)
            sending = StreamingRequest(
                self.connections, self.endpoint, self.timeouts, self.max_stream_bytes
            )
            decoder = self.make_decoder()
            try:
                pieces = sending.stream(payload, cancel)
                yield from self._read_reply(request, pieces, sending, decoder)
            finally:
                sending.close(is_complete=decoder.is_complete)
            if sending.error_response is None:
                yield from decoder.assembler.finish()
                yield self._count_usage(request, decoder)
                return
            if not learn_capabilities(sending.error_response, payload, self.capabilities):
                raise self._make_error(sending.error_response, request)

    def _read_reply(
        self,
        request: ChatRequest,
        pieces: Iterator[bytes],
        sending: StreamingRequest,
        decoder: ReplyDecoder,
    ) -> Iterator[ChatEvent]:
        """Yield the events of a reply; after an error, the usage if the model was working."""
        try:
            yield from _decode_reply(pieces, sending, decoder)
        except InvalidBodyError as invalid:
            if not decoder.assembler.is_empty:
                yield self._count_usage(request, decoder)
            raise self._explain_body(invalid, sending, request) from None
        except (NetworkError, Cancelled) as error:
            if sending.is_billable(error):
                yield self._count_usage(request, decoder)
            raise

    def _explain_body(
        self, invalid: InvalidBodyError, sending: StreamingRequest, request: ChatRequest
    ) -> NetworkError:
        headers = sending.headers or httpx.Headers()
        response = EndpointResponse(invalid.status, headers, invalid.text, sending.route)
        if isinstance(invalid, ReportedError):
            return self._make_error(response, request)
        return NetworkError(explain_unexpected_body(response, self._list_secrets()))

    def _make_error(self, response: EndpointResponse, request: ChatRequest) -> NetworkError:
        secrets, has_tools = self._list_secrets(), bool(request.tools)
        return make_endpoint_error(response, secrets, self.capabilities, had_tools=has_tools)

    def _list_secrets(self) -> tuple[str, ...]:
        return list_request_secrets(self.endpoint.url, self.endpoint.api_key)

    def _count_usage(self, request: ChatRequest, decoder: ReplyDecoder) -> TokensUsed:
        counted = decoder.assembler.provider_usage
        if counted is not None:
            return TokensUsed(*counted, exact=True)
        received = self.counter.count_text(decoder.assembler.join_received())
        return TokensUsed(self.counter.count_request(request), received, exact=False)


def _decode_reply(
    pieces: Iterator[bytes], sending: StreamingRequest, decoder: ReplyDecoder
) -> Iterator[ChatEvent]:
    """Yield the events of a reply until it is complete; none of an error response."""
    for piece in pieces:
        yield from decoder.feed(piece)
        if decoder.is_complete:
            return
    if sending.error_response is None:
        yield from decoder.finish()
        if not decoder.is_complete:
            raise NetworkError(explain_truncated(sending.route))


def mask_request(request: ChatRequest) -> ChatRequest:
    """Return the request without secrets; the system message is ours and has none.

    Retrieved text and tool results are masked and counted earlier; this last step covers questions,
    earlier turns, file names and repeated tool arguments.
    """
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
    try:
        return json.loads(pair.text).get(name, value) if pair.count else value
    except ValueError:
        return value
