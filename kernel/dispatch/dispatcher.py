"""From a line to a lane: reads envelopes on the reader's thread and never blocks on work."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from kernel.dispatch.answering import LateArrival, Request, SendLine, fail
from kernel.dispatch.backlog import Backlog
from kernel.dispatch.lanes import Job, Lane, WorkerLane, run_on_own_thread
from kernel.dispatch.pending import PendingReplies
from kernel.dispatch.router import Route, Router
from kernel.errors import InvalidType, KernelError, Overloaded, SessionNotFound, WrongParam
from kernel.protocol.codec import decode_line, encode
from kernel.protocol.envelope import Envelope, failure
from kernel.protocol.recovery import recover

logger = logging.getLogger(__name__)

# What of a message type a client invented is worth repeating to it.
SHOWN_TYPE_LENGTH = 80


class SessionDoor(Protocol):
    """What the dispatcher needs of an open session."""

    def post(self, job: Job, lane: Lane) -> None:
        """Run the job in this session's lane, once the session is prepared."""


House = TypeVar("House")
Session = TypeVar("Session", bound=SessionDoor)
Room = TypeVar("Room")


@dataclass(frozen=True, slots=True)
class Reception(Generic[House]):
    """The main addressee: its routes, its room, and the worker of each of its lanes."""

    router: Router[House]
    room: House
    lanes: Mapping[Lane, WorkerLane]


class Dispatcher(Generic[House, Session]):
    """Sends every line to where it is answered."""

    def __init__(
        self,
        *,
        main: Reception[House],
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
            envelope = decode_line(line)
        except WrongParam as error:
            self.reject(line, error)
            return
        try:
            self._route(envelope)
        except KernelError as error:
            self._fail(envelope, error)

    def reject(self, line: bytes, error: WrongParam) -> None:
        """Answer a line that is no message, as far as its sender can be made out."""
        envelope = recover(line)
        logger.info("malformed line: %s", error)
        if envelope:
            self._send(encode(failure(envelope, error)))

    def drain(self, timeout_seconds: float, refusal: KernelError) -> None:
        """Wait until every request has its answer; those that have none by then are refused."""
        self._backlog.wait_until_empty(timeout_seconds)
        for job in self._backlog.left():
            job.refuse(refusal)

    def _route(self, envelope: Envelope) -> None:
        if envelope.is_reply:
            if self._pending.settle(envelope.callback_id) is None:
                logger.debug("a reply nobody waits for: %.80s", envelope.type)
        elif envelope.to_main:
            self._to_main(envelope)
        else:
            self._to_session(envelope)

    def _to_main(self, envelope: Envelope) -> None:
        route = self._main.router.routes.get(envelope.type)
        if route is None:
            shown = envelope.type[:SHOWN_TYPE_LENGTH]
            raise InvalidType(f"the kernel does not know the message type {shown!r}")
        request = self._admit(envelope, route, self._main.room)
        if route.lane is Lane.URGENT:
            request.run()
        elif route.lane is Lane.OWN:
            run_on_own_thread(request, envelope.type)
        else:
            self._main.lanes[route.lane].post(request)

    def _to_session(self, envelope: Envelope) -> None:
        session = self._find_session(envelope.session_id)
        if session is None:
            self._look_later(envelope)
        else:
            self._into_session(envelope, session)

    def _look_later(self, envelope: Envelope) -> None:
        """Ask again behind the main lane's queue, where this session's openRepo may be waiting."""
        late = LateArrival(envelope, self._find_or_fail, self._fail, self._backlog.finish)
        self._hold(late)
        self._main.lanes[Lane.MAIN].post(late)

    def _find_or_fail(self, envelope: Envelope) -> None:
        session = self._find_session(envelope.session_id)
        if session is None:
            raise SessionNotFound(
                f"no repository is open for session {envelope.session_id}; send openRepo first"
            )
        self._into_session(envelope, session)

    def _into_session(self, envelope: Envelope, session: Session) -> None:
        route = self._session_router.routes.get(envelope.type)
        if route is None:
            shown = envelope.type[:SHOWN_TYPE_LENGTH]
            raise InvalidType(f"a session does not know the message type {shown!r}")
        request = self._admit(envelope, route, session)
        if route.lane is Lane.URGENT:
            request.run()
        else:
            session.post(request, route.lane)

    def _admit(self, envelope: Envelope, route: Route[Room], room: Room) -> Request[Room]:
        request = Request(envelope, route, room, self._send, self._backlog.finish)
        request.hurry()
        if route.lane is not Lane.URGENT:
            self._hold(request)
        return request

    def _fail(self, envelope: Envelope, error: KernelError) -> None:
        """Refuse what did not reach its handler."""
        routes = self._main.router.routes if envelope.to_main else self._session_router.routes
        route = routes.get(envelope.type)
        fail(envelope, error, self._send, route.stream_end if route else None)

    def _hold(self, job: Job) -> None:
        if not self._backlog.admit(job):
            raise Overloaded("too many requests are waiting for their answers; send fewer at once")
