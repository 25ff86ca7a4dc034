"""Route each line to the lane that answers it, and run its handler there.

Routing runs on the reader's thread and never waits for work. Between arrival and reply a request is
in the bounded backlog. Running a handler is the only place where an exception becomes a status: it
returns one reply or yields several; a yielded error is a failed part, a raised one ends the stream.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from codekernel.dispatch.notifications import PendingReplies, SendLine
from codekernel.dispatch.routing import (
    Job,
    Lane,
    MessageRoute,
    Router,
    StreamTerminator,
    WorkerLane,
    run_on_own_thread,
)
from codekernel.errors import InvalidType, KernelError, Overloaded, SessionNotFound, WrongParam
from codekernel.protocol.envelope import (
    Envelope,
    build_failure,
    build_reply,
    decode_envelope,
    decode_message,
    encode_ascii_json,
    recover_envelope,
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


RequestContext = TypeVar("RequestContext")


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


logger = logging.getLogger(__name__)

# Of an unknown message type, so much is repeated.
MAX_SHOWN_TYPE_CHARS = 80


class SessionInbox(Protocol):
    """What the dispatcher needs of an open session."""

    def post(self, job: Job, lane: Lane) -> None:
        """Run the job in this session's lane, once the session is prepared."""


MainContext = TypeVar("MainContext")

Session = TypeVar("Session", bound=SessionInbox)

TargetContext = TypeVar("TargetContext")


@dataclass(frozen=True, slots=True)
class MainTarget(Generic[MainContext]):
    """The kernel itself: its routes, the context of its handlers, the worker of each lane."""

    router: Router[MainContext]
    context: MainContext
    lanes: Mapping[Lane, WorkerLane]


class Dispatcher(Generic[MainContext, Session]):
    """Routes every line to the lane that answers it."""

    def __init__(
        self,
        *,
        main: MainTarget[MainContext],
        session_router: Router[Session],
        find_session: Callable[[int], Session | None],
        pending: PendingReplies,
        send: SendLine,
    ) -> None:
        self._main = main
        self._session_router = session_router
        self._find_session = find_session
        self._pending = pending
        self._send_line = send
        self._is_silent = False
        self._has_answered = False
        self._backlog = Backlog()
        # Held while a line is accepted: afterwards it is answered or in the backlog.
        self._lock = threading.Lock()
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        """Whether lines are dropped."""
        return self._is_closed

    def close_if_idle(self) -> bool:
        """Drop every line from now on, unless a request is unanswered; true once closed.

        What was sent before and has no reply was not begun.
        """
        with self._lock:
            self._is_closed = self._is_closed or not self._backlog.list_open()
            return self._is_closed

    def accept(self, line: bytes) -> None:
        """Accept one line; errors are answered, never raised."""
        with self._lock:
            if not self._is_closed:
                self._accept(line)

    def _accept(self, line: bytes) -> None:
        try:
            envelope = decode_envelope(line)
        except WrongParam as error:
            self.reject(line, error)
            return
        try:
            self._route(envelope)
        except KernelError as error:
            self._send_failure(envelope, error)

    def reject(self, line: bytes, error: WrongParam) -> None:
        """Answer a line that is no message, if its sender can be recovered."""
        envelope = recover_envelope(line)
        logger.info("malformed line: %s", error)
        if envelope:
            self._send(encode_ascii_json(build_failure(envelope, error)))

    def fall_silent(self) -> None:
        """Answer nothing from now on: the kernel leaves, and the client asks the next one."""
        self._is_silent = True

    @property
    def has_answered(self) -> bool:
        """Whether the client has been sent anything, the answer to ``attach`` first."""
        return self._has_answered

    def _send(self, line: bytes | SpooledLine) -> None:
        if not self._is_silent:
            self._has_answered = True
            self._send_line(line)

    def drain(self, timeout_seconds: float, refusal: KernelError) -> None:
        """Wait until every request is answered; refuse those that are open after the timeout."""
        self._backlog.wait_until_empty(timeout_seconds)
        for job in self._backlog.list_open():
            job.refuse(refusal)

    def _route(self, envelope: Envelope) -> None:
        if envelope.is_reply:
            if self._pending.settle(envelope.callback_id) is None:
                logger.debug("unexpected reply: %.80s", envelope.type)
        elif envelope.to_main:
            self._enqueue(envelope, self._main.router, self._main.context, self._post_to_main)
        elif session := self._find_session(envelope.session_id):
            self._enqueue_in_session(envelope, session)
        else:
            # This session's openRepo may be waiting in the main lane: retry behind it.
            deferred = DeferredRequest(
                envelope, self._dispatch_deferred, self._send_failure, self._backlog.finish
            )
            self._admit_to_backlog(deferred)
            self._main.lanes[Lane.MAIN].post(deferred)

    def _post_to_main(self, request: RoutedRequest[Any], lane: Lane) -> None:
        if lane is Lane.OWN_THREAD:
            run_on_own_thread(request, request.envelope.type)
        else:
            self._main.lanes[lane].post(request)

    def _dispatch_deferred(self, envelope: Envelope) -> None:
        session = self._find_session(envelope.session_id)
        if session is None:
            raise SessionNotFound(
                f"no repository is open for session {envelope.session_id}; send openRepo first"
            )
        self._enqueue_in_session(envelope, session)

    def _enqueue_in_session(self, envelope: Envelope, session: Session) -> None:
        self._enqueue(envelope, self._session_router, session, session.post)

    def _enqueue(
        self,
        envelope: Envelope,
        router: Router[TargetContext],
        context: TargetContext,
        post: Callable[[RoutedRequest[Any], Lane], None],
    ) -> None:
        route = router.routes.get(envelope.type)
        if route is None:
            shown = envelope.type[:MAX_SHOWN_TYPE_CHARS]
            receiver = "the kernel" if envelope.to_main else "a session"
            raise InvalidType(f"{receiver} does not know the message type {shown!r}")
        request = RoutedRequest(envelope, route, context, self._send, self._backlog.finish)
        request.run_arrival_part()
        if route.lane is Lane.URGENT:
            request.run()
            return
        if not route.is_endless:
            self._admit_to_backlog(request)
        post(request, route.lane)

    def _send_failure(self, envelope: Envelope, error: KernelError) -> None:
        """Answer a request that did not reach its handler."""
        routes = self._main.router.routes if envelope.to_main else self._session_router.routes
        route = routes.get(envelope.type)
        send_failure(envelope, error, self._send, route.stream_end if route else None)

    def _admit_to_backlog(self, job: DeferredRequest | RoutedRequest[Any]) -> None:
        if not self._backlog.admit(job, job.envelope.line_bytes):
            raise Overloaded("too many requests are waiting for their answers; send fewer at once")
