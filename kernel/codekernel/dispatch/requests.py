"""Requests between arrival and reply.

The bounded backlog, and running a handler, the only place where an exception becomes a status.
A handler returns one reply or yields several; a yielded error is a failed part, a raised one
ends the stream.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from codekernel.dispatch.routing import Job, MessageRoute, StreamTerminator
from codekernel.errors import KernelError
from codekernel.protocol.envelope import (
    Envelope,
    build_failure,
    build_reply,
    decode_message,
    encode_ascii_json,
)
from codekernel.transport.lines import MAX_LINE_BYTES, SpooledLine

# Enough for any normal burst, too few to fill the memory.
MAX_WAITING_REQUESTS = 8192

# Of their lines: four of the longest.
MAX_WAITING_BYTES = 4 * MAX_LINE_BYTES

# A burst in progress is worth a short wait; if nothing moves, a refusal is better, because the stop
# message may be behind it in the pipe.
ADMIT_TIMEOUT_SECONDS = 0.25


class Backlog:
    """The requests without an answer; one thread admits, many finish."""

    def __init__(
        self,
        limit: int = MAX_WAITING_REQUESTS,
        max_bytes: int = MAX_WAITING_BYTES,
        admit_timeout_seconds: float = ADMIT_TIMEOUT_SECONDS,
    ) -> None:
        self._limit = limit
        self._max_bytes = max_bytes
        self._waiting_bytes = 0
        self._admit_timeout_seconds = admit_timeout_seconds
        self._waiting: dict[int, tuple[Job, int]] = {}
        self._is_stuck = False
        self._changed = threading.Condition()

    def admit(self, job: Job, line_bytes: int = 0) -> bool:
        """Admit a request; false if too much is waiting and none finishes."""
        with self._changed:
            if self._is_full and not self._is_stuck:
                self._is_stuck = not self._changed.wait(self._admit_timeout_seconds)
            if self._is_full:
                return False
            self._waiting[id(job)] = job, line_bytes
            self._waiting_bytes += line_bytes
            return True

    @property
    def _is_full(self) -> bool:
        return len(self._waiting) >= self._limit or self._waiting_bytes >= self._max_bytes

    def finish(self, job: Job) -> None:
        """Remove a request that was answered."""
        with self._changed:
            was_full = self._is_full
            _, line_bytes = self._waiting.pop(id(job), (None, None))
            if line_bytes is None:
                return
            self._waiting_bytes -= line_bytes
            self._is_stuck = False
            if was_full or not self._waiting:
                self._changed.notify_all()

    def wait_until_empty(self, timeout_seconds: float) -> None:
        """Wait until every request is answered, or for the timeout."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting, timeout_seconds)

    def list_open(self) -> Iterable[Job]:
        """Return the requests that are still open."""
        with self._changed:
            return [job for job, _ in self._waiting.values()]


logger = logging.getLogger(__name__)

RequestContext = TypeVar("RequestContext")

SendLine = Callable[[bytes | SpooledLine], None]


@dataclass(frozen=True, slots=True)
class HandlerReply:
    """A reply whose message repeats the request's with additions."""

    data: Any = None
    echo: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StreamedReply:
    """A reply whose ``data`` is too large to build in memory: its JSON, piece by piece."""

    data: Iterator[bytes]


@dataclass(frozen=True, slots=True, eq=False)
class RoutedRequest(Generic[RequestContext]):
    """One request with everything needed to answer it; a Job for any lane."""

    envelope: Envelope
    route: MessageRoute[RequestContext]
    context: RequestContext
    send: SendLine
    on_finished: Callable[[Job], None]

    def run_arrival_part(self) -> None:
        """Run the part that may not wait for the lane; its errors are left to ``run``."""
        if self.route.on_arrival:
            try:
                self.route.on_arrival(self._decode_message(), self.context)
            except KernelError:
                logger.debug("the arrival part of %s failed", self.envelope.type)

    def run(self) -> None:
        """Call the handler and send its replies."""
        end = self.route.stream_end
        try:
            result = self.route.handler(self._decode_message(), self.context)
            for part in result if isinstance(result, Iterator) else (result,):
                self._reply(part)
                if end and end.is_end(part):
                    end = None
        except KernelError as error:
            send_failure(self.envelope, error, self.send, end)
        except (Exception, SystemExit):
            logger.exception("unexpected failure in %s", self.envelope.type)
            unexpected = KernelError(f"{self.envelope.type} failed unexpectedly; the log says why")
            send_failure(self.envelope, unexpected, self.send, end)
        finally:
            self.on_finished(self)

    def refuse(self, error: KernelError) -> None:
        """Answer without calling the handler."""
        send_failure(self.envelope, error, self.send, self.route.stream_end)
        self.on_finished(self)

    def _decode_message(self) -> object:
        return decode_message(self.route.declaration, self.envelope.message)

    def _reply(self, result: object) -> None:
        if isinstance(result, KernelError):
            send_failure(self.envelope, result, self.send)
            return
        if isinstance(result, StreamedReply):
            if self.envelope.wants_reply:
                frame = encode_ascii_json(build_reply(self.envelope))
                self.send(SpooledLine(_append_data(frame, result.data)))
            return
        answer = result if isinstance(result, HandlerReply) else HandlerReply(result)
        if self.envelope.wants_reply:
            self.send(encode_ascii_json(build_reply(self.envelope, answer.data, echo=answer.echo)))


@dataclass(frozen=True, slots=True, eq=False)
class DeferredRequest:
    """A request whose session may still be opening; a Job that delivers or refuses it."""

    envelope: Envelope
    deliver: Callable[[Envelope], None]
    fail: Callable[[Envelope, KernelError], None]
    on_finished: Callable[[Job], None]

    def run(self) -> None:
        """Deliver it, or answer why not."""
        try:
            self.deliver(self.envelope)
        except KernelError as error:
            self.fail(self.envelope, error)
        finally:
            self.on_finished(self)

    def refuse(self, error: KernelError) -> None:
        """Answer without delivering."""
        self.fail(self.envelope, error)
        self.on_finished(self)


def _append_data(frame: bytes, data: Iterator[bytes]) -> Iterator[bytes]:
    """Yield a reply with its data as the last member of the object."""
    yield frame.removesuffix(b"}") + b',"data":'
    yield from data
    yield b"}"


def send_failure(
    envelope: Envelope, error: KernelError, send: SendLine, end: StreamTerminator | None = None
) -> None:
    """Answer a request with an error and end its stream, if it wants a reply."""
    logger.info("%.80s: %s: %s", envelope.type, error.code, error)
    if envelope.wants_reply:
        send(encode_ascii_json(build_failure(envelope, error)))
        if end:
            send(encode_ascii_json(build_reply(envelope, end.refusal_part)))
