"""One window's session: a worker thread, an inbox, and an end that leaves nothing unanswered."""

import logging
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernel.dispatch.lanes import Job, Lane, run_on_own_thread
from kernel.domain.cancel import CancelToken
from kernel.domain.hit import Hit
from kernel.domain.repo import Repo
from kernel.errors import KernelError, SessionNotFound
from kernel.sessions.workspaces import Workspace, Workspaces
from kernel.settings.live import LiveSettings
from kernel.storage.usage import UsageLedger

if TYPE_CHECKING:  # a tenth of a second that the first question can wait for, and openRepo cannot
    from kernel.agent.turns import AgentTurns
    from kernel.conversation.conversations import Conversations
    from kernel.conversation.place import Place

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SessionServices:
    """What sessions share with the rest of the kernel."""

    workspaces: Workspaces
    settings: LiveSettings
    usage: UsageLedger
    conversations: "Callable[[], Conversations]"
    agents: "Callable[[], AgentTurns]"


@dataclass(frozen=True, slots=True)
class SessionEvents:
    """Whom a session tells about its life."""

    prepared: Callable[["Session"], None]
    progress: Callable[["Session", str, str, float], None]
    crashed: Callable[["Session", BaseException], None]


class Session:
    """A repository open in a window; requests wait until it is prepared, then run in order."""

    def __init__(
        self, session_id: int, repo: Repo, services: SessionServices, events: SessionEvents
    ) -> None:
        self.id = session_id
        self.repo = repo
        self.services = services
        self.cancel = CancelToken()
        self._events = events
        self._inbox: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._door = threading.Lock()
        self._prepared = False
        self._refusal: KernelError | None = None
        self._workspace: Workspace | None = None
        self._worked = threading.Event()
        self._thread = threading.Thread(
            target=self._live, name=f"session:{session_id}", daemon=True
        )

    @property
    def workspace(self) -> Workspace:
        """What this session shares with the other windows on its repository."""
        if self._workspace is None:
            raise SessionNotFound(f"session {self.id} is not open")
        return self._workspace

    def place(self) -> "Place":
        """The repository as a conversation needs it."""
        from kernel.conversation.place import Place  # noqa: PLC0415 - with the first question
        from kernel.search.highlight import marker_of  # noqa: PLC0415

        workspace = self.workspace

        def search(query: str, limit: int, cancel: CancelToken) -> list[Hit]:
            return workspace.searcher.found(query, limit, cancel, accuracy=True).hits

        return Place(
            self.repo.path,
            search,
            workspace.index.store.catalogue,
            self.repo.id,
            lambda *asked: workspace.calls().ask(*asked),
            marker_of,
        )

    def start(self) -> None:
        """Begin to prepare; ``events.prepared`` follows, or ``events.crashed``."""
        try:
            self._thread.start()
        except RuntimeError as error:  # the system has no thread to give
            self._crash(error)

    def post(self, job: Job, lane: Lane) -> None:
        """Run the job once the session is prepared: in order, or on its own thread."""
        with self._door:
            refusal = self._refusal
            on_own_thread = lane is Lane.OWN and self._prepared
            if refusal is None and not on_own_thread:
                self._inbox.put(_Detached(job, self.id) if lane is Lane.OWN else job)
        if refusal is not None:
            job.refuse(refusal)
        elif on_own_thread:
            run_on_own_thread(job, f"session:{self.id}")

    def close(self, refusal: KernelError) -> None:
        """End without waiting: running work is cancelled, waiting requests get ``refusal``."""
        with self._door:
            if self._refusal is not None:
                return
            self._refusal = refusal
            self._inbox.put(None)
        self.cancel.cancel()

    def end_pause(self) -> None:
        """Let the index go on; the next window may take it over before this session has ended."""
        if self._workspace is not None:
            self._workspace.index.resume()

    def join(self, timeout_seconds: float) -> bool:
        """Wait until the worker has ended, its workspace included; false if it takes longer."""
        if self._thread.ident is not None:
            self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def join_work(self, timeout_seconds: float) -> bool:
        """Wait until no request is being answered; false if it takes longer.

        The workspace may still be closing: a model being loaded cannot be interrupted, and ending
        the process under it does no harm.
        """
        return self._worked.wait(timeout_seconds) or self.join(0)

    def _live(self) -> None:
        try:
            with self.services.workspaces.lend(self.repo) as self._workspace:
                self._announce_prepared()
                self._work_beside_index(self._workspace)
        except BaseException as error:  # noqa: BLE001 - the guard of this thread: only this session dies
            self._crash(error)
        self._worked.set()
        self._refuse_waiting()

    def _announce_prepared(self) -> None:
        with self._door:
            self._prepared = self._refusal is None
        if self._prepared:
            self._events.prepared(self)

    def _work_beside_index(self, workspace: Workspace) -> None:
        """Answer requests while the index, started by its first session, tells its progress."""
        unsubscribe = workspace.index.subscribe(self._report, self._crash)
        try:
            if self._prepared:
                workspace.index.start(self.services.workspaces.plan())
            self._work()
        finally:
            unsubscribe()
            self._worked.set()

    def _report(self, path: str, status: str, progress: float) -> None:
        if self._refusal is None:
            self._events.progress(self, path, status, progress)

    def _work(self) -> None:
        while (job := self._inbox.get()) is not None:
            if self._refusal is not None:
                job.refuse(self._refusal)
            else:
                job.run()

    def _crash(self, error: BaseException) -> None:
        if self._refusal is not None:
            # Closed on purpose, perhaps because its repository was deleted under it; its id may
            # belong to a new window by now.
            logger.info("session %d ended while it was being closed: %s", self.id, error)
            return
        logger.error("session %d crashed", self.id, exc_info=error)
        self._events.crashed(self, error)
        self.close(
            SessionNotFound(f"session {self.id} crashed: {error}; open the repository again")
        )

    def _refuse_waiting(self) -> None:
        """Nothing is put in after ``close``, so what is found now is all there will ever be."""
        while not self._inbox.empty():
            job = self._inbox.get()
            if job is not None and self._refusal is not None:
                job.refuse(self._refusal)


@dataclass(frozen=True, slots=True)
class _Detached:
    """A job for a thread of its own that has to wait until its session is prepared."""

    job: Job
    session_id: int

    def run(self) -> None:
        run_on_own_thread(self.job, f"session:{self.session_id}")

    def refuse(self, error: KernelError) -> None:
        self.job.refuse(error)
