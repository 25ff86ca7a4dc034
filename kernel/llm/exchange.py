"""One request and its answer, in a thread of its own, so that whoever waits can leave at any time.

Reading a socket cannot be interrupted the same way everywhere, and looking up a name cannot be
interrupted at all; waiting for a queue can.
"""

import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx

from kernel.domain.cancel import CancelToken
from kernel.errors import Cancelled, NetworkError
from kernel.llm.answer import LONGEST_BODY_BYTES, Answer, read_answer
from kernel.llm.client import chat_request
from kernel.llm.connections import Connection, Connections
from kernel.llm.deadline import Deadline
from kernel.llm.explain import broke_off, fell_silent, stopped, too_slow, unreachable
from kernel.llm.patience import SPARE_SECONDS, Patience
from kernel.llm.retrying import send
from kernel.llm.route import Route

# How often a wait looks at the cancel token: a stop must end within 200 ms.
POLL_SECONDS = 0.05
# How long an answer that is complete may take to end, for its connection to be used again.
GOODBYE_SECONDS = 0.05
# All of an answer; the longest real ones have some megabytes with everything around the words.
LONGEST_ANSWER_BYTES = 64 * 1024 * 1024

_STREAM_HEADERS = {
    "Accept": "text/event-stream, application/x-ndjson, application/json",
    "Accept-Encoding": "identity",  # compression gathers words before it sends them
}


@dataclass(frozen=True, slots=True)
class Opened:
    """The server has begun to answer with 200."""

    headers: httpx.Headers


class Exchange:
    """Iterate over ``pieces`` once; call ``leave`` in any case."""

    def __init__(
        self, connections: Connections, url: str, *, api_key: str, patience: Patience
    ) -> None:
        self.route = Route(httpx.URL(url))
        self.timed_out = False
        self._connections = connections
        self._url = url
        self._api_key = api_key
        self._patience = patience
        self._pieces: queue.SimpleQueue[Opened | Answer | bytes | NetworkError | None] = (
            queue.SimpleQueue()
        )
        self._abandoned = CancelToken()
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._connection: Connection | None = None

    def pieces(
        self, payload: dict[str, Any], cancel: CancelToken
    ) -> Iterator[Opened | Answer | bytes]:
        """Send, and yield a refusal whole, or ``Opened`` and then the body piece by piece."""
        name = f"chat:{self.route.host}"
        threading.Thread(target=self._run, args=(payload,), name=name, daemon=True).start()
        has_begun = False
        while (piece := self._next(cancel, has_begun=has_begun)) is not None:
            if isinstance(piece, NetworkError):
                raise piece
            has_begun = has_begun or isinstance(piece, bytes)
            yield piece

    def leave(self, *, complete: bool) -> None:
        """Keep the connection if the answer is complete and its end is near, else cut it."""
        if self._ended.wait(GOODBYE_SECONDS if complete else 0):
            return
        self._abandoned.cancel()
        with self._lock:
            if self._connection is not None:
                self._connection.cut()

    def _next(
        self, cancel: CancelToken, *, has_begun: bool
    ) -> Opened | Answer | bytes | NetworkError | None:
        patience = self._patience
        limit = patience.between_pieces_seconds if has_begun else patience.first_piece_seconds
        ends_at = time.monotonic() + limit
        while not cancel.cancelled:
            try:
                return self._pieces.get(timeout=POLL_SECONDS)
            except queue.Empty:
                if time.monotonic() > ends_at:
                    self.timed_out = True
                    explain = fell_silent if has_begun else too_slow
                    raise NetworkError(explain(self.route)) from None
        raise Cancelled(stopped(self.route))

    def _run(self, payload: dict[str, Any]) -> None:
        read_to_its_end = False
        try:
            connection = self._connections.borrow()
            with self._lock:
                self._connection = connection
            if self._abandoned.cancelled:
                return
            read_to_its_end = self._converse(connection, payload)
        except NetworkError as error:
            self._pieces.put(error)
        finally:
            with self._lock:
                lent, self._connection = self._connection, None
            if lent is not None:
                self._connections.give_back(lent, reusable=read_to_its_end)
            self._ended.set()
            self._pieces.put(None)

    def _converse(self, connection: Connection, payload: dict[str, Any]) -> bool:
        """Put everything the server says into the queue; true if that was all of it."""
        request = chat_request(connection.client, self._url, api_key=self._api_key, payload=payload)
        request.headers.update(_STREAM_HEADERS)
        request.extensions["trace"] = self.route
        self.route.on_stream = connection.note
        deadline = Deadline.after(self._patience.first_piece_seconds + SPARE_SECONDS)
        response = send(
            connection.client,
            request,
            cancel=self._abandoned,
            deadline=deadline,
            waits=self._patience.retry_waits,
        )
        if response.status_code != httpx.codes.OK:
            answer = read_answer(response, cancel=self._abandoned, deadline=deadline)
            self._pieces.put(answer)
            return len(answer.text) < LONGEST_BODY_BYTES
        self._pieces.put(Opened(response.headers))
        try:
            return self._read(response)
        finally:
            response.close()

    def _read(self, response: httpx.Response) -> bool:
        size = 0
        try:
            for piece in response.iter_bytes():
                size += len(piece)
                if self._abandoned.cancelled or size > LONGEST_ANSWER_BYTES:
                    return False
                self._pieces.put(piece)
        except (httpx.RemoteProtocolError, httpx.ReadError):
            raise NetworkError(broke_off(self.route)) from None
        except httpx.HTTPError as error:
            raise NetworkError(unreachable(error, self.route)) from None
        return True
