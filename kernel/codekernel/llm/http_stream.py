"""A streaming HTTP request on its own thread, which its caller can abandon at any time.

Also the decoders of its body: server-sent events (WHATWG) and newline-delimited JSON.
"""

import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx

from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled, NetworkError
from codekernel.llm.http_client import HttpConnection, HttpConnectionPool, build_chat_request
from codekernel.llm.network_errors import (
    RequestRoute,
    explain_network_error,
    explain_stalled,
    explain_stopped,
    explain_timeout,
    explain_truncated,
)
from codekernel.llm.response_errors import MAX_BODY_BYTES, EndpointResponse, read_response
from codekernel.llm.retry import (
    SOCKET_TIMEOUT_MARGIN_SECONDS,
    ChatTimeouts,
    Deadline,
    send_with_retry,
)

# A delta has some hundred bytes, a whole answer sent as one event some hundred thousand.
MAX_EVENT_BYTES = 8 * 1024 * 1024

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventTooLongError(Exception):
    """An event that does not end; its sender is no chat endpoint."""


class SseDecoder:
    """Decodes bytes into the data of events; keeps only the unfinished event."""

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_bytes = max_event_bytes
        self._line = bytearray()
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._at_beginning = True
        self._after_return = False

    def feed(self, piece: bytes) -> Iterator[str]:
        """Yield the data of every event that ends in ``piece``."""
        if not piece:
            return
        if self._after_return:
            # The other half of a CRLF that was split between two pieces.
            piece = piece.removeprefix(b"\n")
        for part in piece.splitlines(keepends=True):
            ending = part.endswith((b"\n", b"\r"))
            self._line += part.rstrip(b"\r\n") if ending else part
            if len(self._line) + self._data_bytes > self._max_bytes:
                raise EventTooLongError
            if ending:
                line = bytes(self._line)
                self._line.clear()
                yield from self._decode_line(line)
        # The line has ended already, whatever comes next.
        self._after_return = piece.endswith(b"\r")

    def take_rest(self) -> str | None:
        """Return the data of an event that the end of the stream truncated, as some servers do.

        The specification discards it; the caller has to check whether it is complete.
        """
        line = bytes(self._line)
        self._line.clear()
        for _ in self._decode_line(line) if line else ():
            pass
        return next(self._decode_line(b""), None)

    def _decode_line(self, line: bytes) -> Iterator[str]:
        if self._at_beginning:
            self._at_beginning = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if not line:
            if self._data:
                yield b"\n".join(self._data).decode("utf-8", errors="replace")
            self._data.clear()
            self._data_bytes = 0
            return
        # A line that begins with the colon is a comment: its field has no name.
        name, _, value = line.partition(b":")
        if name == b"data":
            value = value.removeprefix(b" ")
            self._data.append(value)
            self._data_bytes += len(value) + 1


class NdjsonDecoder:
    """Decodes bytes into lines; keeps only the unfinished line."""

    def __init__(self, max_line_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_bytes = max_line_bytes
        self._line = bytearray()

    def feed(self, piece: bytes) -> Iterator[str]:
        """Yield every line that ends in ``piece``, without its end; blank ones are left out."""
        *ended, begun = piece.split(b"\n")
        for part in ended:
            self._line += part
            line = bytes(self._line)
            self._line.clear()
            if line.strip():
                yield line.decode("utf-8", errors="replace")
        self._line += begun
        if len(self._line) > self._max_bytes:
            raise EventTooLongError

    def take_rest(self) -> str | None:
        """Return the last line, if nothing ended it."""
        line = bytes(self._line)
        self._line.clear()
        return line.decode("utf-8", errors="replace") if line.strip() else None


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
class ResponseStarted:
    """The server has begun to answer with 200."""

    headers: httpx.Headers


class StreamingRequest:
    """Iterate over ``stream`` once; call ``close`` in any case."""

    def __init__(
        self, connections: HttpConnectionPool, url: str, *, api_key: str, timeouts: ChatTimeouts
    ) -> None:
        self.route = RequestRoute(httpx.URL(url))
        self.has_timed_out = False
        self._connections = connections
        self._url = url
        self._api_key = api_key
        self._timeouts = timeouts
        self._queue: queue.SimpleQueue[
            ResponseStarted | EndpointResponse | bytes | NetworkError | None
        ] = queue.SimpleQueue()
        self._abort_token = CancelToken()
        self._has_ended = threading.Event()
        self._lock = threading.Lock()
        self._connection: HttpConnection | None = None

    def stream(
        self, payload: dict[str, Any], cancel: CancelToken
    ) -> Iterator[ResponseStarted | EndpointResponse | bytes]:
        """Send; yield an error response, or ``ResponseStarted`` and then the body in pieces."""
        if cancel.is_cancelled:
            raise Cancelled(explain_stopped(self.route))
        name = f"chat:{self.route.host}"
        threading.Thread(target=self._run, args=(payload,), name=name, daemon=True).start()
        has_begun = False
        while (piece := self._wait_for_piece(cancel, has_begun=has_begun)) is not None:
            if isinstance(piece, NetworkError):
                raise piece
            has_begun = has_begun or isinstance(piece, bytes)
            yield piece

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
    ) -> ResponseStarted | EndpointResponse | bytes | NetworkError | None:
        timeouts = self._timeouts
        limit = timeouts.idle_timeout_seconds if has_begun else timeouts.first_token_timeout_seconds
        ends_at = time.monotonic() + limit
        while not cancel.is_cancelled:
            try:
                return self._queue.get(timeout=CANCEL_POLL_INTERVAL_SECONDS)
            except queue.Empty:
                if time.monotonic() > ends_at:
                    self.has_timed_out = True
                    explain = explain_stalled if has_begun else explain_timeout
                    raise NetworkError(explain(self.route)) from None
        raise Cancelled(explain_stopped(self.route))

    def _run(self, payload: dict[str, Any]) -> None:
        is_complete = False
        try:
            connection = self._connections.acquire()
            with self._lock:
                self._connection = connection
            if self._abort_token.is_cancelled:
                return
            is_complete = self._send_and_read(connection, payload)
        except NetworkError as error:
            self._queue.put(error)
        finally:
            with self._lock:
                used, self._connection = self._connection, None
            if used is not None:
                self._connections.release(used, is_reusable=is_complete)
            self._has_ended.set()
            self._queue.put(None)

    def _send_and_read(self, connection: HttpConnection, payload: dict[str, Any]) -> bool:
        """Put everything the server sends into the queue; true if the body was read to its end."""
        request = build_chat_request(
            connection.client, self._url, api_key=self._api_key, payload=payload
        )
        request.headers.update(_STREAM_HEADERS)
        request.extensions["trace"] = self.route
        self.route.on_socket_opened = connection.attach_socket
        deadline = Deadline.after(
            self._timeouts.first_token_timeout_seconds + SOCKET_TIMEOUT_MARGIN_SECONDS
        )
        response = send_with_retry(
            connection.client,
            request,
            cancel=self._abort_token,
            deadline=deadline,
            backoff_seconds=self._timeouts.retry_backoff_seconds,
        )
        if response.status_code != httpx.codes.OK:
            answer = read_response(response, cancel=self._abort_token, deadline=deadline)
            self._queue.put(answer)
            return len(answer.text) < MAX_BODY_BYTES
        self._queue.put(ResponseStarted(response.headers))
        try:
            return self._read_body(response)
        finally:
            response.close()

    def _read_body(self, response: httpx.Response) -> bool:
        size = 0
        try:
            for piece in response.iter_bytes():
                size += len(piece)
                if self._abort_token.is_cancelled or size > MAX_STREAM_BYTES:
                    return False
                self._queue.put(piece)
        except (httpx.RemoteProtocolError, httpx.ReadError):
            raise NetworkError(explain_truncated(self.route)) from None
        except httpx.HTTPError as error:
            raise NetworkError(explain_network_error(error, self.route)) from None
        return True
