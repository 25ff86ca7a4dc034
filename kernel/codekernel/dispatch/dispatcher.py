"""Route each line to the lane that answers it.

Runs on the reader's thread and never waits for work.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from codekernel.dispatch.notifications import PendingReplies
from codekernel.dispatch.requests import (
    Backlog,
    DeferredRequest,
    RoutedRequest,
    SendLine,
    send_failure,
)
from codekernel.dispatch.routing import (
    Job,
    Lane,
    Router,
    WorkerLane,
    run_on_own_thread,
)
from codekernel.errors import InvalidType, KernelError, Overloaded, SessionNotFound, WrongParam
from codekernel.protocol.envelope import (
    Envelope,
    build_failure,
    decode_envelope,
    encode_ascii_json,
    recover_envelope,
)
from codekernel.transport.lines import SpooledLine

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
