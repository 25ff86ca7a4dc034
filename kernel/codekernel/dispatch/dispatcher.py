"""Route each line to the lane that answers it.

Runs on the reader's thread and never waits for work.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

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
    MessageRoute,
    Router,
    WorkerLane,
    run_on_own_thread,
)
from codekernel.errors import InvalidType, KernelError, Overloaded, SessionNotFound, WrongParam
from codekernel.protocol.codec import decode_envelope, encode_ascii_json, recover_envelope
from codekernel.protocol.envelope import Envelope, build_failure

logger = logging.getLogger(__name__)

# What of a message type a client invented is worth repeating to it.
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
    """The main addressee: its routes, its room, and the worker of each of its lanes."""

    router: Router[MainContext]
    context: MainContext
    lanes: Mapping[Lane, WorkerLane]


class Dispatcher(Generic[MainContext, Session]):
    """Sends every line to where it is answered."""

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
        self._send = send
        self._backlog = Backlog()

    def accept(self, line: bytes) -> None:
        """Take one line in; whatever is wrong with it is answered, never raised."""
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
        """Answer a line that is no message, as far as its sender can be made out."""
        envelope = recover_envelope(line)
        logger.info("malformed line: %s", error)
        if envelope:
            self._send(encode_ascii_json(build_failure(envelope, error)))

    def drain(self, timeout_seconds: float, refusal: KernelError) -> None:
        """Wait until every request has its answer; those that have none by then are refused."""
        self._backlog.wait_until_empty(timeout_seconds)
        for job in self._backlog.list_open():
            job.refuse(refusal)

    def _route(self, envelope: Envelope) -> None:
        if envelope.is_reply:
            if self._pending.settle(envelope.callback_id) is None:
                logger.debug("a reply nobody waits for: %.80s", envelope.type)
        elif envelope.to_main:
            self._dispatch_to_main(envelope)
        else:
            self._dispatch_to_session(envelope)

    def _dispatch_to_main(self, envelope: Envelope) -> None:
        route = self._main.router.routes.get(envelope.type)
        if route is None:
            shown = envelope.type[:MAX_SHOWN_TYPE_CHARS]
            raise InvalidType(f"the kernel does not know the message type {shown!r}")
        request = self._admit(envelope, route, self._main.context)
        if route.lane is Lane.URGENT:
            request.run()
        elif route.lane is Lane.OWN_THREAD:
            run_on_own_thread(request, envelope.type)
        else:
            self._main.lanes[route.lane].post(request)

    def _dispatch_to_session(self, envelope: Envelope) -> None:
        session = self._find_session(envelope.session_id)
        if session is None:
            self._defer_until_main_lane(envelope)
        else:
            self._enqueue_in_session(envelope, session)

    def _defer_until_main_lane(self, envelope: Envelope) -> None:
        """Ask again behind the main lane's queue, where this session's openRepo may be waiting."""
        late = DeferredRequest(
            envelope, self._dispatch_deferred, self._send_failure, self._backlog.finish
        )
        self._admit_to_backlog(late)
        self._main.lanes[Lane.MAIN].post(late)

    def _dispatch_deferred(self, envelope: Envelope) -> None:
        session = self._find_session(envelope.session_id)
        if session is None:
            raise SessionNotFound(
                f"no repository is open for session {envelope.session_id}; send openRepo first"
            )
        self._enqueue_in_session(envelope, session)

    def _enqueue_in_session(self, envelope: Envelope, session: Session) -> None:
        route = self._session_router.routes.get(envelope.type)
        if route is None:
            shown = envelope.type[:MAX_SHOWN_TYPE_CHARS]
            raise InvalidType(f"a session does not know the message type {shown!r}")
        request = self._admit(envelope, route, session)
        if route.lane is Lane.URGENT:
            request.run()
        else:
            session.post(request, route.lane)

    def _admit(
        self, envelope: Envelope, route: MessageRoute[TargetContext], room: TargetContext
    ) -> RoutedRequest[TargetContext]:
        request = RoutedRequest(envelope, route, room, self._send, self._backlog.finish)
        request.run_arrival_part()
        if route.lane is not Lane.URGENT:
            self._admit_to_backlog(request)
        return request

    def _send_failure(self, envelope: Envelope, error: KernelError) -> None:
        """Refuse what did not reach its handler."""
        routes = self._main.router.routes if envelope.to_main else self._session_router.routes
        route = routes.get(envelope.type)
        send_failure(envelope, error, self._send, route.stream_end if route else None)

    def _admit_to_backlog(self, job: Job) -> None:
        if not self._backlog.admit(job):
            raise Overloaded("too many requests are waiting for their answers; send fewer at once")
