"""Requests and streams of many threads over one connection to the kernel, which may be replaced."""

import json
import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache
from pathlib import Path
from typing import Any

from codekernel import errors
from codekernel.client.launcher import connect_to_kernel
from codekernel.client.link_channel import LinkChannel
from codekernel.client.relay import Connect, KernelLink, make_attach_line
from codekernel.client.relay_state import RelayState
from codekernel.errors import KernelError, KernelUnavailable, RefusedByKernel
from codekernel.protocol import MAIN_SESSION_ID

logger = logging.getLogger(__name__)

Fields = dict[str, Any]

# After a kernel that cannot be had; the last one is repeated.
_RETRY_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)

# A stream whose owner does not take so many parts loses those that are repeated anyway.
MAX_UNDELIVERED_PARTS = 16_384


class EventStream:
    """A stream of parts that is followed again when the kernel was lost; made by the follower.

    ``build_fields`` returns the fields of the request, ``handle`` gets each part, both on a thread
    of the stream's own.
    """

    def __init__(
        self,
        message_type: str,
        build_fields: Callable[[], Fields],
        handle: Callable[[Fields], None],
    ) -> None:
        self.message_type = message_type
        self.build_fields = build_fields
        self.first_part: Future[Fields] = Future()
        self._handle = handle
        self._parts: queue.SimpleQueue[Fields | None] = queue.SimpleQueue()
        self._follow_again: Callable[[], None] = lambda: None
        self.is_closed = False

    def start(self, follow_again: Callable[[], None]) -> None:
        """Begin to deliver; ``follow_again`` is called when the stream has ended."""
        self._follow_again = follow_again
        threading.Thread(target=self._deliver, name="agent-events", daemon=True).start()

    def put(self, part: Fields | None) -> None:
        """Queue a part; None if the stream has ended and is to be followed again."""
        is_repeated = part is not None and part.get("type") == "event" and not part.get("id")
        if not is_repeated or self._parts.qsize() < MAX_UNDELIVERED_PARTS:
            self._parts.put(part)

    def close(self) -> None:
        """Deliver nothing more."""
        self.is_closed = True
        self._parts.put(None)

    def _deliver(self) -> None:
        while True:
            part = self._parts.get()
            if self.is_closed:
                return
            if part is None:
                self._follow_again()
                continue
            self._handle(part)
            if not self.first_part.done():
                self.first_part.set_result(part)


class KernelRequests:
    """One attached client for many threads; it attaches again by itself."""

    def __init__(self, user_data: Path, client: str, connect: Connect = connect_to_kernel) -> None:
        """Attach to the kernel. Raises KernelError."""
        self._user_data = user_data
        self._client = client
        self._connect = connect
        self._lock = threading.Lock()
        self._next_id = 1
        self._pending: dict[int, Future[Any]] = {}
        self._streams: dict[int, EventStream] = {}
        self._closed = threading.Event()
        self._link: KernelLink | None = self._attach()
        threading.Thread(target=self._run, name="kernel-replies", daemon=True).start()

    def request(self, message_type: str, fields: Fields) -> Any:
        """Return the data of the reply. Raises the error that the kernel answered with."""
        reply: Future[Any] = Future()
        with self._lock:
            callback_id, self._next_id = self._next_id, self._next_id + 1
            self._pending[callback_id] = reply
        self._send(callback_id, message_type, fields)
        return reply.result()

    def follow(self, stream: EventStream) -> Fields:
        """Begin a stream; return its first part. Raises KernelError."""
        stream.start(lambda: self._follow(stream))
        self._follow(stream)
        return stream.first_part.result()

    def close(self) -> None:
        """Disconnect; what waits is refused, and streams end."""
        self._closed.set()
        with self._lock:
            link, self._link = self._link, None
            streams = list(self._streams.values())
        if link:
            link.close()
        for stream in streams:
            stream.close()
        self._refuse_pending("this client was closed")

    def _follow(self, stream: EventStream) -> None:
        with self._lock:
            if stream.is_closed or self._closed.is_set():
                return
            callback_id, self._next_id = self._next_id, self._next_id + 1
            self._streams[callback_id] = stream
        self._send(callback_id, stream.message_type, stream.build_fields())

    def _attach(self) -> KernelLink:
        attach_line = make_attach_line(self._client)
        return KernelLink(self._user_data, RelayState(), attach_line, self._connect)

    def _send(self, callback_id: int, message_type: str, fields: Fields) -> None:
        envelope = {
            "sessionId": MAIN_SESSION_ID,
            "toMain": True,
            "callbackId": callback_id,
            "isReply": False,
            "message": {**fields, "type": message_type},
        }
        with self._lock:
            link = self._link
        if link:
            link.send(json.dumps(envelope).encode() + b"\n")
        else:
            self._fail(callback_id, KernelUnavailable("there is no kernel at the moment"))

    def _run(self) -> None:
        """Read replies; when no kernel can be had, try again for as long as this is open."""
        while not self._closed.is_set():
            with self._lock:
                link = self._link
            if link is None:
                return
            for line in LinkChannel(link).iter_sent():
                self._handle(line if isinstance(line, bytes) else b"".join(line.iter_pieces()))
            with self._lock:
                self._link = None
            self._refuse_pending("the kernel has ended")
            self._attach_again()

    def _attach_again(self) -> None:
        attempt = 0
        while not self._closed.wait(_RETRY_SECONDS[min(attempt, len(_RETRY_SECONDS) - 1)]):
            attempt += 1
            try:
                link = self._attach()
            except KernelError as error:
                logger.info("no kernel can be had: %s", error)
                continue
            with self._lock:
                self._link = link
                streams, self._streams = set(self._streams.values()), {}
            if self._closed.is_set():
                link.close()
            for stream in streams:
                stream.put(None)
            return

    def _handle(self, line: bytes) -> None:
        envelope = json.loads(line)
        if not envelope.get("isReply"):
            return
        callback_id, status = envelope["callbackId"], envelope.get("status") or {}
        error = None
        if status.get("code") != errors.SUCCESS:
            error = _build_error(str(status.get("code")), str(status.get("message")))
        if stream := self._streams.get(callback_id):
            self._handle_part(callback_id, stream, envelope.get("data"), error)
        elif error:
            self._fail(callback_id, error)
        elif reply := self._pending.pop(callback_id, None):
            reply.set_result(envelope.get("data"))

    def _handle_part(
        self, callback_id: int, stream: EventStream, part: Fields | None, error: KernelError | None
    ) -> None:
        if error and not stream.first_part.done():
            stream.close()
            stream.first_part.set_exception(error)
        elif part and part["type"] == "done":
            with self._lock:
                self._streams.pop(callback_id, None)
            stream.put(None)
        elif part:
            stream.put(part)

    def _fail(self, callback_id: int, error: KernelError) -> None:
        if reply := self._pending.pop(callback_id, None):
            reply.set_exception(error)
        elif (stream := self._streams.get(callback_id)) and not stream.first_part.done():
            stream.first_part.set_exception(error)

    def _refuse_pending(self, reason: str) -> None:
        with self._lock:
            pending, self._pending = self._pending, {}
            streams = list(self._streams.values())
        error = KernelUnavailable(reason)
        for reply in pending.values():
            reply.set_exception(error)
        for stream in streams:
            if not stream.first_part.done():
                stream.close()
                stream.first_part.set_exception(error)


@cache
def _list_errors() -> dict[str, type[KernelError]]:
    """The errors that have a code of their own; of several with one code the most general."""
    found: dict[str, type[KernelError]] = {}
    for each in vars(errors).values():
        if isinstance(each, type) and issubclass(each, KernelError):
            found.setdefault(each.code, each)
    return found


def _build_error(code: str, message: str) -> KernelError:
    kind = _list_errors().get(code, RefusedByKernel)
    return RefusedByKernel(message, code) if kind is RefusedByKernel else kind(message)
