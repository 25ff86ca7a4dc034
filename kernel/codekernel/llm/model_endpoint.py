"""A server of embedding models or rerankers: JSON posted to it, many requests at once.

A request can be cancelled while it runs, and has a deadline; overload is waited out.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from codekernel.domain.concurrency import CancelToken
from codekernel.errors import NetworkError
from codekernel.llm.http_client import (
    DEFAULT_TIMEOUTS,
    HttpConnectionPool,
    RequestRoute,
    build_chat_request,
    resolve_model_url,
)
from codekernel.llm.http_request import (
    EndpointResponse,
    RetryPolicy,
    read_response,
    send_with_retry,
)
from codekernel.llm.network_errors import explain_timeout
from codekernel.llm.response_errors import explain_error_response, format_host, quote_response
from codekernel.masking.masker import list_request_secrets

# 2,048 vectors of 4,096 dimensions, written out, and as much again.
MAX_ANSWER_BYTES = 512 * 1024 * 1024

# A busy server may take so long for a batch, its retries included.
BULK_TIMEOUT_SECONDS = 120.0

# Overload of a server is waited out; Retry-After may ask for longer.
BULK_BACKOFF_SECONDS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)

# Not 500: llama.cpp answers so to a text that is too long.
OVERLOAD_STATUSES = frozenset({429, 502, 503, 504})

# Queries that wait for an answer at once; more wait for those.
MAX_URGENT_REQUESTS = 16


class ModelEndpoint:
    """One address of a server; any number of threads may use it."""

    def __init__(
        self,
        url: str,
        path: str,
        get_key: Callable[[], str],
        backoff_seconds: Sequence[float] = BULK_BACKOFF_SECONDS,
    ) -> None:
        """``path`` is appended unless the url ends with it. Raises WrongParam for no address."""
        self.url = resolve_model_url(url, path)
        self.host = httpx.URL(self.url).netloc.decode("ascii")
        self._get_key = get_key
        self._backoff_seconds = backoff_seconds
        timeouts = httpx.Timeout(**(DEFAULT_TIMEOUTS.as_dict() | {"read": BULK_TIMEOUT_SECONDS}))
        self._connections = HttpConnectionPool(timeouts)
        self._urgent = ThreadPoolExecutor(MAX_URGENT_REQUESTS, thread_name_prefix="endpoint")

    def post(self, payload: Mapping[str, Any], cancel: CancelToken) -> EndpointResponse:
        """Return the answer, whatever its status. Raises NetworkError, also when cancelled."""
        ends_at = time.monotonic() + BULK_TIMEOUT_SECONDS
        return self._post(payload, cancel, ends_at, self._backoff_seconds)

    def post_urgent(self, payload: Mapping[str, Any], timeout_seconds: float) -> EndpointResponse:
        """Return the answer, whatever its status, or raise NetworkError at the deadline.

        It runs on a thread of its own, because looking up a name cannot be interrupted.
        """
        cancel = CancelToken()
        ends_at = time.monotonic() + timeout_seconds
        asking = self._urgent.submit(self._post, payload, cancel, ends_at, ())
        try:
            return asking.result(timeout_seconds)
        except TimeoutError:
            cancel.cancel()
            asking.cancel()
            raise NetworkError(explain_timeout(RequestRoute(httpx.URL(self.url)))) from None

    def explain_status(self, response: EndpointResponse) -> NetworkError:
        """Return the error for an answer whose status is not 200."""
        return NetworkError(explain_error_response(response, self._list_secrets()))

    def explain_body(self, response: EndpointResponse, problem: str) -> NetworkError:
        """Return the error for an answer that holds something else than was asked for."""
        quote = quote_response(response, self._list_secrets())[:200]
        return NetworkError(f"{format_host(response)} {problem}{quote}.")

    def close(self) -> None:
        """Close idle connections now, and the others when their answers end."""
        self._urgent.shutdown(wait=False, cancel_futures=True)
        self._connections.close()

    def _list_secrets(self) -> tuple[str, ...]:
        return list_request_secrets(self.url, self._get_key())

    def _post(
        self,
        payload: Mapping[str, Any],
        cancel: CancelToken,
        ends_at: float,
        backoff_seconds: Sequence[float],
    ) -> EndpointResponse:
        connection = self._connections.acquire()
        is_complete = False
        try:
            with cancel.on_cancel(connection.abort):
                request = build_chat_request(
                    connection.client, self.url, api_key=self._get_key(), payload=dict(payload)
                )
                route = RequestRoute(request.url)
                route.connection = connection
                request.extensions["trace"] = route
                response = send_with_retry(
                    connection.client,
                    request,
                    cancel=cancel,
                    ends_at=ends_at,
                    retries=RetryPolicy(backoff_seconds, OVERLOAD_STATUSES),
                )
                answer = read_response(
                    response, cancel=cancel, ends_at=ends_at, max_bytes=MAX_ANSWER_BYTES
                )
            is_complete = True
            return answer
        finally:
            self._connections.release(connection, is_reusable=is_complete)
