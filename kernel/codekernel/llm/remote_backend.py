"""A chat model behind a url.

Mask and send the request, decode the stream, adapt to what the endpoint refuses, and count the
tokens used (by the provider, else by a cached tokenizer).
"""

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any

import httpx

from codekernel.domain.chat import ChatEvent, ChatRequest, TokensUsed
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled, NetworkError
from codekernel.llm.endpoint import ChatEndpoint
from codekernel.llm.http_client import HttpConnectionPool
from codekernel.llm.http_stream import ResponseStarted, StreamingRequest
from codekernel.llm.network_errors import explain_truncated
from codekernel.llm.providers.base import (
    ChatProvider,
    EndpointCapabilities,
    InvalidBodyError,
    ReplyDecoder,
    ReportedError,
)
from codekernel.llm.providers.openai import build_tool_json
from codekernel.llm.request_masking import mask_request
from codekernel.llm.response_errors import (
    EndpointResponse,
    explain_unexpected_body,
    learn_capabilities,
    make_endpoint_error,
)
from codekernel.llm.retry import ChatTimeouts
from codekernel.masking.masker import list_request_secrets

# The rounds of a conversation repeat most of what was sent before; 4,096 counts take under 1 MB.
TOKEN_CACHE_SIZE = 4096

# What a chat template puts around each message: its role and its start and end markers.
TEMPLATE_TOKENS_PER_MESSAGE = 4


class CachedTokenCounter:
    """Caches counts by the hash of a text, so that a large text is not kept alive."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._cache: OrderedDict[bytes, int] = OrderedDict()
        self._lock = threading.Lock()

    def count_text(self, text: str) -> int:
        """Count the tokens of a text."""
        if not text:
            return 0
        key = blake2b(text.encode("utf-8", errors="replace"), digest_size=16).digest()
        with self._lock:
            known = self._cache.get(key)
            if known is not None:
                self._cache.move_to_end(key)
                return known
        counted = self._count(text)
        with self._lock:
            self._cache[key] = counted
            if len(self._cache) > TOKEN_CACHE_SIZE:
                self._cache.popitem(last=False)
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


class RemoteBackend:
    """A ``ChatBackend``; what differs between endpoints is in its provider and capabilities."""

    def __init__(  # noqa: PLR0913 - the parts it is put together from
        self,
        endpoint: ChatEndpoint,
        *,
        provider: ChatProvider,
        capabilities: EndpointCapabilities,
        counter: CachedTokenCounter,
        connections: HttpConnectionPool,
        timeouts: ChatTimeouts,
        masks_secrets: bool = False,
    ) -> None:
        self._endpoint = endpoint
        self._provider = provider
        self._capabilities = capabilities
        self._counter = counter
        self._connections = connections
        self._timeouts = timeouts
        self.masks_secrets = masks_secrets
        self._secrets = list_request_secrets(endpoint.url, endpoint.api_key)

    @property
    def model_name(self) -> str:
        """Return the name that usage is recorded under."""
        return self._endpoint.model_name

    @property
    def supports_tools(self) -> bool:
        """Return whether tools may be given; false once the endpoint has refused them."""
        return self._capabilities.supports_tools

    @property
    def context_tokens(self) -> int | None:
        """Return the context size of the model; None until an error has named it."""
        return self._capabilities.context_tokens

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text."""
        return self._counter.count_text(text)

    def close(self) -> None:
        """Close idle connections now, and the others when their answers end."""
        self._connections.close()

    def stream(self, request: ChatRequest, cancel: CancelToken) -> Iterator[ChatEvent]:
        """Yield the reply; repeat the request without options that the endpoint refuses."""
        if self.masks_secrets:
            request = mask_request(request)
        while True:
            payload = self._provider.build_payload(self.model_name, request, self._capabilities)
            attempt = _RequestAttempt(self._make_request(), self._provider.make_decoder())
            try:
                yield from self._read_reply(attempt, payload, cancel)
            except (NetworkError, Cancelled) as error:
                if attempt.is_billable(error):
                    yield self._count_usage(request, attempt.decoder)
                raise
            finally:
                attempt.request.close(is_complete=attempt.decoder.is_complete)
            if attempt.error_response is None:
                yield from attempt.decoder.assembler.finish()
                yield self._count_usage(request, attempt.decoder)
                return
            if not learn_capabilities(attempt.error_response, payload, self._capabilities):
                raise self._make_error(attempt.error_response, payload)

    def _make_request(self) -> StreamingRequest:
        endpoint = self._endpoint
        return StreamingRequest(
            self._connections, endpoint.url, api_key=endpoint.api_key, timeouts=self._timeouts
        )

    def _read_reply(
        self, attempt: "_RequestAttempt", payload: dict[str, Any], cancel: CancelToken
    ) -> Iterator[ChatEvent]:
        decoder, route = attempt.decoder, attempt.request.route
        headers = httpx.Headers()
        try:
            for piece in attempt.request.stream(payload, cancel):
                if isinstance(piece, EndpointResponse):
                    attempt.error_response = piece
                    return
                if isinstance(piece, ResponseStarted):
                    headers = piece.headers
                    attempt.has_started = True
                    continue
                yield from decoder.feed(piece)
                if decoder.is_complete:
                    return
            yield from decoder.finish()
        except InvalidBodyError as invalid:
            attempt.has_invalid_body = True
            response = EndpointResponse(httpx.codes.OK, headers, invalid.text, route)
            raise NetworkError(explain_unexpected_body(response, self._secrets)) from None
        except ReportedError as reported:
            attempt.has_invalid_body = True
            status = reported.status or httpx.codes.OK
            raise self._make_error(
                EndpointResponse(status, headers, reported.text, route), payload
            ) from None
        if not decoder.is_complete:
            raise NetworkError(explain_truncated(route))

    def _make_error(self, response: EndpointResponse, payload: dict[str, Any]) -> NetworkError:
        return make_endpoint_error(
            response, self._secrets, capabilities=self._capabilities, had_tools="tools" in payload
        )

    def _count_usage(self, request: ChatRequest, decoder: ReplyDecoder) -> TokensUsed:
        counted = decoder.assembler.provider_usage
        if counted is not None:
            return TokensUsed(*counted, exact=True)
        received = self._counter.count_text(decoder.assembler.join_received())
        return TokensUsed(self._counter.count_request(request), received, exact=False)


class _RequestAttempt:
    """One request and its outcome."""

    def __init__(self, request: StreamingRequest, decoder: ReplyDecoder) -> None:
        self.request = request
        self.decoder = decoder
        self.error_response: EndpointResponse | None = None
        self.has_started = False
        self.has_invalid_body = False

    def is_billable(self, error: Exception) -> bool:
        """Return whether the model was working when ``error`` ended it.

        A request that was sent and then stopped, or not answered in time, counts as billed;
        a body that is no answer does not.
        """
        if self.has_invalid_body and self.decoder.assembler.is_empty:
            return False
        waited = isinstance(error, Cancelled) or self.request.has_timed_out
        return self.has_started or (waited and self.request.route.is_request_sent)
