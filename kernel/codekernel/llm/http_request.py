"""One HTTP request to a chat endpoint: deadline, retries with backoff, and its response.

A streaming request runs on its own thread, which its caller can abandon at any time.
"""

import queue
import re
import threading
import time
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled, NetworkError
from codekernel.llm.http_client import (
    DEFAULT_TIMEOUTS,
    HttpConnection,
    HttpConnectionPool,
    RequestRoute,
    build_chat_request,
    get_route,
)
from codekernel.llm.network_errors import (
    explain_network_error,
    explain_stalled,
    explain_stopped,
    explain_timeout,
    explain_truncated,
    is_dropped_connection,
)
from codekernel.llm.providers.base import parse_json_or_none

_SECONDS_PATTERN = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII)


def parse_retry_after(value: str, now: datetime) -> float | None:
    """Return the seconds from ``now`` of a number or an HTTP date; None if it is neither."""
    value = value.strip()
    if _SECONDS_PATTERN.fullmatch(value):
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


RETRYABLE_STATUSES = frozenset({429, 500, 502, 503, 504})

# The waits the front end's earlier kernel made.
RETRY_BACKOFF_SECONDS = (0.5, 1.0, 2.0)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long to wait before each retry, and after which statuses there is one."""

    backoff_seconds: Sequence[float] = RETRY_BACKOFF_SECONDS
    statuses: Collection[int] = RETRYABLE_STATUSES


DEFAULT_RETRIES = RetryPolicy()

# An attempt may begin just before the deadline; it then has this long for each of its phases.
MIN_TIMEOUT_SECONDS = 1.0


def send_with_retry(
    client: httpx.Client,
    request: httpx.Request,
    *,
    cancel: CancelToken,
    ends_at: float,
    retries: RetryPolicy = DEFAULT_RETRIES,
) -> httpx.Response:
    """Return the response, whatever its status and still open: the caller reads and closes it.

    Nothing is tried again after ``ends_at`` of the monotonic clock.
    Overload and dropped connections are tried again, once per wait. Refused connections, unknown
    names, bad certificates and timeouts are not: they would only fail again, and slowly.
    """
    route = get_route(request)
    limits = dict(request.extensions["timeout"])
    for wait in (*retries.backoff_seconds, None):
        if cancel.is_cancelled:
            raise NetworkError(explain_stopped(route))
        left = max(ends_at - time.monotonic(), MIN_TIMEOUT_SECONDS)
        request.extensions["timeout"] = {phase: min(limits[phase], left) for phase in limits}
        outcome = _send_once(client, request)
        backoff = None if wait is None else _compute_backoff(outcome, wait, retries.statuses)
        if backoff is None or backoff >= ends_at - time.monotonic():
            break
        if isinstance(outcome, httpx.Response):
            outcome.close()
        if cancel.wait(backoff):
            raise NetworkError(explain_stopped(route))
    if isinstance(outcome, httpx.Response):
        return outcome
    # The cause is left out on purpose: httpx's texts may quote headers, and causes are logged.
    raise NetworkError(explain_network_error(outcome, route)) from None


def _send_once(client: httpx.Client, request: httpx.Request) -> httpx.Response | Exception:
    try:
        return client.send(request, stream=True)
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        return error


def _compute_backoff(
    outcome: httpx.Response | Exception, wait: float, retryable_statuses: Collection[int]
) -> float | None:
    """Return how long to wait before a retry; None if it would not help."""
    if isinstance(outcome, Exception):
        return wait if is_dropped_connection(outcome) else None
    if outcome.status_code not in retryable_statuses:
        return None
    asked = parse_retry_after(outcome.headers.get("retry-after", ""), datetime.now(UTC))
    return max(wait, asked or 0.0)


# Sockets wait this much longer than the caller, whose timeout has the better explanation.
SOCKET_TIMEOUT_MARGIN_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ChatTimeouts:
    """How long to wait for a reply and its pieces, and before each retry."""

    # A model on this machine may have to be loaded first, and then reads the question slowly.
    first_token_timeout_seconds: float = 300.0
    idle_timeout_seconds: float = 90.0
    retry_backoff_seconds: Sequence[float] = RETRY_BACKOFF_SECONDS


def make_socket_timeouts(timeouts: ChatTimeouts) -> httpx.Timeout:
    """Return timeouts of the phases of a request that are longer than those of the caller."""
    longest = max(timeouts.first_token_timeout_seconds, timeouts.idle_timeout_seconds)
    read = {"read": longest + SOCKET_TIMEOUT_MARGIN_SECONDS}
    return httpx.Timeout(**(DEFAULT_TIMEOUTS.as_dict() | read))


# Far more than any error or one-token answer; a download link pasted as url must not fill memory.
MAX_BODY_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class EndpointResponse:
    """A response whose connection is already closed."""

    status: int
    headers: httpx.Headers
    text: str
    route: RequestRoute

    def json(self) -> Any:
        """Parse the body; None if it is no JSON."""
        return parse_json_or_none(self.text)


def read_response(
    response: httpx.Response,
    *,
    cancel: CancelToken,
    ends_at: float,
    max_bytes: int = MAX_BODY_BYTES,
) -> EndpointResponse:
    """Read a response and close it; what lies beyond ``max_bytes`` is dropped."""
    route = get_route(response.request)
    body = bytearray()
    with closing(_iter_body(response)) as pieces:
        for piece in pieces:
            body += piece
            if cancel.is_cancelled:
                raise NetworkError(explain_stopped(route))
            if time.monotonic() >= ends_at:
                raise NetworkError(explain_timeout(route))
            if len(body) >= max_bytes:
                break
    text = body[:max_bytes].decode("utf-8", errors="replace")
    return EndpointResponse(response.status_code, response.headers, text, route)


def _iter_body(response: httpx.Response) -> Generator[bytes, None, None]:
    """Yield the body in pieces, and close the response in any case."""
    try:
        yield from response.iter_bytes()
    except (httpx.RemoteProtocolError, httpx.ReadError):
        raise NetworkError(explain_truncated(get_route(response.request))) from None
    except httpx.HTTPError as error:
        raise NetworkError(explain_network_error(error, get_route(response.request))) from None
    finally:
        response.close()


# How often a wait checks the cancel token: a stop must end within 200 ms.
CANCEL_POLL_INTERVAL_SECONDS = 0.05

# How long an answer that is complete may take to end, for its connection to be used again.
STREAM_END_TIMEOUT_SECONDS = 0.05

# All of an answer; the longest real ones have some megabytes with everything around the words.
MAX_STREAM_BYTES = 64 * 1024 * 1024

_STREAM_HEADERS = {
    "Accept": "text/event-stream, application/x-ndjson, application/json",
    "Accept-Encoding": "identity",  # compression gathers words before it sends them
}


@dataclass(frozen=True, slots=True)
class ChatEndpoint:
    """The url, model name and key of a chat model."""

    url: str
    model_name: str
    api_key: str = field(repr=False)


class StreamingRequest:
    """Iterate over ``stream`` once; call ``close`` in any case.

    An answer with status 200 has ``headers``; any other one is ``error_response``.
    """

    def __init__(
        self,
        connections: HttpConnectionPool,
        endpoint: ChatEndpoint,
        timeouts: ChatTimeouts,
        max_bytes: int = MAX_STREAM_BYTES,
    ) -> None:
        self.route = RequestRoute(httpx.URL(endpoint.url))
        self.headers: httpx.Headers | None = None
        self.error_response: EndpointResponse | None = None
        self._connections = connections
        self._endpoint = endpoint
        self._timeouts = timeouts
        self._max_bytes = max_bytes
        self._pieces: queue.SimpleQueue[bytes | NetworkError | None] = queue.SimpleQueue()
        self._abort_token = CancelToken()
        self._has_ended = threading.Event()
        self._has_timed_out = False
        self._lock = threading.Lock()
        self._connection: HttpConnection | None = None

    def stream(self, payload: dict[str, Any], cancel: CancelToken) -> Iterator[bytes]:
        """Send, and yield the body of an answer with status 200 in pieces."""
        if cancel.is_cancelled:
            raise Cancelled(explain_stopped(self.route))
        name = f"chat:{self.route.host}"
        threading.Thread(target=self._run, args=(payload,), name=name, daemon=True).start()
        has_begun = False
        while (piece := self._wait_for_piece(cancel, has_begun=has_begun)) is not None:
            if isinstance(piece, NetworkError):
                raise piece
            if piece:
                has_begun = True
                yield piece

    def is_billable(self, error: Exception) -> bool:
        """Return whether the model was working when ``error`` ended the request.

        One that was sent and then stopped, or not answered in time, counts as billed.
        """
        waited = isinstance(error, Cancelled) or self._has_timed_out
        return self.headers is not None or (waited and self.route.is_request_sent)

    def close(self, *, is_complete: bool) -> None:
        """Keep the connection if the reply is complete and ends at once, else abort it."""
        if self._has_ended.wait(STREAM_END_TIMEOUT_SECONDS if is_complete else 0):
            return
        self._abort_token.cancel()
        with self._lock:
            if self._connection is not None:
                self._connection.abort()

    def _wait_for_piece(
        self, cancel: CancelToken, *, has_begun: bool
    ) -> bytes | NetworkError | None:
        timeouts = self._timeouts
        limit = timeouts.idle_timeout_seconds if has_begun else timeouts.first_token_timeout_seconds
        ends_at = time.monotonic() + limit
        while not cancel.is_cancelled:
            try:
                return self._pieces.get(timeout=CANCEL_POLL_INTERVAL_SECONDS)
            except queue.Empty:
                if time.monotonic() > ends_at:
                    self._has_timed_out = True
                    explain = explain_stalled if has_begun else explain_timeout
                    raise NetworkError(explain(self.route)) from None
        raise Cancelled(explain_stopped(self.route))

    def _run(self, payload: dict[str, Any]) -> None:
        is_complete = False
        try:
            connection = self._connections.acquire()
            with self._lock:
                self._connection = connection
            if not self._abort_token.is_cancelled:
                is_complete = self._send_and_read(connection, payload)
        except NetworkError as error:
            self._pieces.put(error)
        finally:
            with self._lock:
                used, self._connection = self._connection, None
            if used is not None:
                self._connections.release(used, is_reusable=is_complete)
            self._has_ended.set()
            self._pieces.put(None)

    def _send_and_read(self, connection: HttpConnection, payload: dict[str, Any]) -> bool:
        """Put all pieces of the body into the queue; true if it was read to its end."""
        request = build_chat_request(
            connection.client,
            self._endpoint.url,
            api_key=self._endpoint.api_key,
            payload=payload,
        )
        request.headers.update(_STREAM_HEADERS)
        request.extensions["trace"] = self.route
        self.route.connection = connection
        timeouts, cancel = self._timeouts, self._abort_token
        seconds = timeouts.first_token_timeout_seconds + SOCKET_TIMEOUT_MARGIN_SECONDS
        ends_at = time.monotonic() + seconds
        response = send_with_retry(
            connection.client,
            request,
            cancel=cancel,
            ends_at=ends_at,
            retries=RetryPolicy(timeouts.retry_backoff_seconds),
        )
        if response.status_code != httpx.codes.OK:
            self.error_response = read_response(response, cancel=cancel, ends_at=ends_at)
            return len(self.error_response.text) < MAX_BODY_BYTES
        self.headers = response.headers
        self._pieces.put(b"")  # from now on the first token is waited for
        size = 0
        with closing(_iter_body(response)) as pieces:
            for piece in pieces:
                size += len(piece)
                if cancel.is_cancelled or size > self._max_bytes:
                    return False
                self._pieces.put(piece)
        return True
