"""Lanes (the queue and thread a handler runs in) and routes (message type -> handler)."""

import logging
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, auto
from importlib import import_module
from typing import Any, Generic, Protocol, TypeVar

from codekernel.domain.concurrency import start_thread
from codekernel.errors import KernelError
from codekernel.protocol.envelope import Message, get_message_type

logger = logging.getLogger(__name__)

# Refusing is quick; longer than this means that a job itself is stuck.
REFUSAL_TIMEOUT_SECONDS = 0.5


class Lane(Enum):
    """The queue a request waits in; requests of one lane are answered in order."""

    URGENT = auto()  # at once, on the reader's thread: stops work, and must not block
    MAIN = auto()  # repositories and sessions: short work only, because every window waits for it
    SETTINGS = auto()  # settings, keys, hardware: may take a second
    SESSION = auto()  # the session's own worker
    OWN_THREAD = auto()  # a thread of its own: network and long conversations


class Job(Protocol):
    """A queued request: it is run, or refused, exactly once."""

    def run(self) -> None:
        """Answer the request."""

    def refuse(self, error: KernelError) -> None:
        """Answer that it will not be done."""


class WorkerLane:
    """A thread that runs jobs one after another; their exceptions go to ``on_crash``."""

    def __init__(self, name: str, on_crash: Callable[[BaseException], None]) -> None:
        self._inbox: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._refusal: KernelError | None = None
        self._is_refusing = False
        self._thread = start_thread(name, self._work, on_crash)

    def post(self, job: Job) -> None:
        """Queue the job, or refuse it if the lane has closed."""
        with self._lock:
            refusal = self._refusal
            if refusal is None:
                self._inbox.put(job)
        if refusal is not None:
            job.refuse(refusal)

    def close(self, refusal: KernelError) -> None:
        """Take no more jobs; those already queued are still run."""
        with self._lock:
            if self._refusal is None:
                self._refusal = refusal
                self._inbox.put(None)

    def join(self, timeout_seconds: float) -> bool:
        """Wait for the queued jobs, then refuse the rest; false if one still runs."""
        self._thread.join(timeout_seconds)
        self._is_refusing = True
        self._thread.join(REFUSAL_TIMEOUT_SECONDS)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (job := self._inbox.get()) is not None:
            if self._is_refusing and self._refusal:
                job.refuse(self._refusal)
            else:
                job.run()


def run_on_own_thread(job: Job, name: str) -> None:
    """Run the job on a new thread; refuse it if none can be started."""
    try:
        threading.Thread(target=job.run, name=name, daemon=True).start()
    except RuntimeError:
        logger.exception("no thread for %s", name)
        job.refuse(KernelError("the system has no thread left to give; close other programs"))


Context = TypeVar("Context")

M = TypeVar("M", bound=Message)

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class StreamTerminator:
    """The last part of a stream of replies, sent also if its request is refused."""

    refusal_part: object
    is_end: Callable[[object], bool]


@dataclass(frozen=True, slots=True)
class MessageRoute(Generic[Context]):
    """A message declaration, its lane, and its handler."""

    declaration: type[Message]
    lane: Lane
    handler: Callable[[Any, Context], object]
    on_arrival: Callable[[Any, Context], None] | None = None
    stream_end: StreamTerminator | None = None
    is_endless: bool = False


class Router(Generic[Context]):
    """A table of routes, filled by decorators; ``Context`` is passed to its handlers."""

    def __init__(self) -> None:
        self.routes: dict[str, MessageRoute[Context]] = {}

    def handles(
        self,
        declaration: type[M],
        *,
        lane: Lane,
        on_arrival: Callable[[M, Context], None] | None = None,
        stream_end: StreamTerminator | None = None,
        is_endless: bool = False,
    ) -> Callable[[Callable[[M, Context], Result]], Callable[[M, Context], Result]]:
        """Register the function below as the handler of one message.

        ``on_arrival`` is the part that may not wait for the lane: it must not block.
        ``stream_end`` is sent after the error of a request that fails without it. ``is_endless``:
        its stream ends with the client, so nobody waits for it.
        """

        def register(handler: Callable[[M, Context], Result]) -> Callable[[M, Context], Result]:
            name = get_message_type(declaration)
            route = MessageRoute(declaration, lane, handler, on_arrival, stream_end, is_endless)
            known = self.routes.get(name)
            if known and not isinstance(known.handler, _LateHandler):
                raise ValueError(f"{name} has a handler already")
            if known and replace(known, handler=handler) != route:
                raise ValueError(f"{name} was expected in another way")
            self.routes[name] = route
            return handler

        return register

    def expect_late(
        self,
        module: str,
        lane: Lane,
        *declarations: type[Message],
        stream_end: StreamTerminator | None = None,
        is_endless: bool = False,
    ) -> None:
        """Let the first of these messages import the module that handles them, on its lane."""
        for declaration in declarations:
            name = get_message_type(declaration)
            handler = _LateHandler(self, module, name)
            self.routes[name] = MessageRoute(
                declaration, lane, handler, None, stream_end, is_endless
            )

    def import_all(self) -> None:
        """Import every module that is expected late."""
        for route in list(self.routes.values()):
            if isinstance(route.handler, _LateHandler):
                route.handler.find()


@dataclass(frozen=True, slots=True)
class _LateHandler(Generic[Context]):
    """Imports the module of a handler with the first message, then calls it."""

    router: Router[Context]
    module: str
    name: str

    def __call__(self, message: Message, context: Context) -> object:
        return self.find()(message, context)

    def find(self) -> Callable[[Any, Context], object]:
        """Return the handler. Raises LookupError if the module has none."""
        import_module(self.module)
        handler = self.router.routes[self.name].handler
        if handler == self:
            raise LookupError(f"{self.module} does not handle {self.name}")
        return handler
