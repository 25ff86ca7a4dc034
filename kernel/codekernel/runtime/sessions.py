"""Sessions: one worker thread and inbox per window, and the table of open sessions.

SessionSupervisor survives the crash of any session.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from codekernel.dispatch.notifications import NotificationSender
from codekernel.dispatch.routing import Job, Lane, run_on_own_thread
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Hit, Repo
from codekernel.domain.untrusted_text import encode_path
from codekernel.errors import KernelError, SessionExists, SessionNotFound
from codekernel.protocol.messages.repos import SessionCrashed, SessionPrepared
from codekernel.protocol.messages.search import EmbeddingStatus
from codekernel.runtime.workspaces import Workspace, Workspaces
from codekernel.settings.live import LiveSettings
from codekernel.storage.vault.tables import UsageLedger

if TYPE_CHECKING:  # 0.1 s to import, which the first question can wait for and openRepo cannot
    from codekernel.agent.turns import AgentTurns
    from codekernel.conversation.conversations import Conversations
    from codekernel.conversation.retriever import RepositoryAccess

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SessionServices:
    """What sessions share with the rest of the kernel."""

    workspaces: Workspaces
    settings: LiveSettings
    usage: UsageLedger
    conversations: "Callable[[], Conversations]"
    agents: "Callable[[], AgentTurns]"


class Session:
    """A repository open in a window; requests wait until it is prepared, then run in order."""

    def __init__(
        self,
        session_id: int,
        repo: Repo,
        services: SessionServices,
        supervisor: "SessionSupervisor",
    ) -> None:
        self.id = session_id
        self.repo = repo
        self.services = services
        self.cancel = CancelToken()
        self._supervisor = supervisor
        self._inbox: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._is_prepared = False
        self._refusal: KernelError | None = None
        self._workspace: Workspace | None = None
        self._work_done = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"session:{session_id}", daemon=True)

    @property
    def workspace(self) -> Workspace:
        """What this session shares with the other windows on its repository."""
        if self._workspace is None:
            raise SessionNotFound(f"session {self.id} is not open")
        return self._workspace

    def build_repository_access(self) -> "RepositoryAccess":
        """Return the repository as a conversation needs it."""
        from codekernel.conversation.retriever import RepositoryAccess  # noqa: PLC0415 - with the first question
        from codekernel.search.highlight import build_highlighter  # noqa: PLC0415

        workspace = self.workspace

        def search(query: str, limit: int, cancel: CancelToken) -> list[Hit]:
            return workspace.searcher.run_search(query, limit, cancel, accuracy=True).hits

        return RepositoryAccess(
            self.repo.path,
            search,
            workspace.index.store.catalog,
            self.repo.id,
            lambda *asked: workspace.call_graph().ask(*asked),
            build_highlighter,
        )

    def start(self) -> None:
        """Begin to prepare; the supervisor is told when that is done, or has failed."""
        try:
            self._thread.start()
        except RuntimeError as error:  # the system has no thread left
            self._handle_crash(error)

    def post(self, job: Job, lane: Lane) -> None:
        """Run the job once the session is prepared: in order, or on its own thread."""
        with self._lock:
            refusal = self._refusal
            on_own_thread = lane is Lane.OWN_THREAD and self._is_prepared
            if refusal is None and not on_own_thread:
                self._inbox.put(_DetachedJob(job, self.id) if lane is Lane.OWN_THREAD else job)
        if refusal is not None:
            job.refuse(refusal)
        elif on_own_thread:
            run_on_own_thread(job, f"session:{self.id}")

    def close(self, refusal: KernelError) -> None:
        """End without waiting: running work is cancelled, waiting requests get ``refusal``."""
        with self._lock:
            if self._refusal is not None:
                return
            self._refusal = refusal
            self._inbox.put(None)
        self.cancel.cancel()

    def resume_indexing(self) -> None:
        """End a pause; the next window may use the index before this session has ended."""
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
        return self._work_done.wait(timeout_seconds) or self.join(0)

    def _run(self) -> None:
        try:
            with self.services.workspaces.acquire(self.repo) as self._workspace:
                self._announce_prepared()
                self._serve_with_index(self._workspace)
        except BaseException as error:  # noqa: BLE001 - the guard of this thread: only this session dies
            self._handle_crash(error)
        self._work_done.set()
        self._refuse_waiting()

    def _announce_prepared(self) -> None:
        with self._lock:
            self._is_prepared = self._refusal is None
        if self._is_prepared:
            self._supervisor.announce_prepared(self)

    def _serve_with_index(self, workspace: Workspace) -> None:
        """Answer requests while the index, started by its first session, reports progress."""
        unsubscribe = workspace.index.subscribe(self._report_progress, self._handle_crash)
        try:
            if self._is_prepared:
                workspace.index.start(self.services.workspaces.build_plan())
            self._run_jobs()
        finally:
            unsubscribe()
            self._work_done.set()

    def _report_progress(self, path: str, status: str, progress: float) -> None:
        if self._refusal is None:
            self._supervisor.announce_progress(self, path, status, progress)

    def _run_jobs(self) -> None:
        while (job := self._inbox.get()) is not None:
            if self._refusal is not None:
                job.refuse(self._refusal)
            else:
                job.run()

    def _handle_crash(self, error: BaseException) -> None:
        if self._refusal is not None:
            # Closed on purpose, perhaps because its repository was deleted under it; its id may
            # belong to a new window by now.
            logger.info("session %d ended while it was being closed: %s", self.id, error)
            return
        logger.error("session %d crashed", self.id, exc_info=error)
        self._supervisor.remove_crashed(self, error)
        self.close(
            SessionNotFound(f"session {self.id} crashed: {error}; open the repository again")
        )

    def _refuse_waiting(self) -> None:
        """Refuse what is queued; nothing is queued after ``close``."""
        while not self._inbox.empty():
            job = self._inbox.get()
            if job is not None and self._refusal is not None:
                job.refuse(self._refusal)


@dataclass(frozen=True, slots=True)
class _DetachedJob:
    """A job for a thread of its own that waits until its session is prepared."""

    job: Job
    session_id: int

    def run(self) -> None:
        run_on_own_thread(self.job, f"session:{self.session_id}")

    def refuse(self, error: KernelError) -> None:
        self.job.refuse(error)


class SessionSupervisor:
    """The table of sessions by id."""

    def __init__(self, services: SessionServices, announcer: NotificationSender) -> None:
        self._services = services
        self._announcer = announcer
        self._sessions: dict[int, Session] = {}
        self._lock = threading.Lock()

    def open(self, session_id: int, repo: Repo) -> Session:
        """Reserve the id for a new session; the caller starts it after its reply."""
        with self._lock:
            if session_id in self._sessions:
                raise SessionExists(
                    f"session {session_id} has {self._sessions[session_id].repo.name} open; "
                    "close it first, or use another id"
                )
            session = Session(session_id, repo, self._services, self)
            self._sessions[session_id] = session
            return session

    def find(self, session_id: int) -> Session | None:
        """Return the session with this id, if it is open."""
        return self._sessions.get(session_id)

    def cancel(self, session_id: int) -> None:
        """Cancel a session's running work, because its window is closing."""
        session = self.find(session_id)
        if session:
            session.cancel.cancel()

    def close(self, session_id: int) -> None:
        """Free the id and let the session end in its own time."""
        with self._lock:
            session = self._sessions.pop(session_id, None)
            if session is None:
                raise SessionNotFound(f"no repository is open for session {session_id}")
            is_last = all(other.repo.id != session.repo.id for other in self._sessions.values())
        if is_last:
            session.resume_indexing()
        session.close(SessionNotFound(f"session {session_id} was closed"))

    def close_repo(self, repo_id: int, timeout_seconds: float) -> bool:
        """Close every session on one repository; false if one of them would not end in time."""
        refusal = SessionNotFound("the repository of this session was deleted")
        closing = self._close_where(lambda session: session.repo.id == repo_id, refusal)
        return _join_all(closing, Session.join, timeout_seconds)

    def close_all(self, refusal: KernelError, timeout_seconds: float) -> bool:
        """Close every session; false if one of them would not end in time."""
        return _join_all(
            self._close_where(lambda _: True, refusal), Session.join_work, timeout_seconds
        )

    def _close_where(
        self, chosen: Callable[[Session], bool], refusal: KernelError
    ) -> list[Session]:
        with self._lock:
            closing = [session for session in self._sessions.values() if chosen(session)]
            for session in closing:
                del self._sessions[session.id]
        for session in closing:
            session.close(refusal)
        return closing

    def announce_prepared(self, session: Session) -> None:
        """Tell the window that its repository can be searched."""
        self._announcer.send_confirmed(
            session.id, SessionPrepared(repo_name=session.repo.name, path=str(session.repo.path))
        )

    def announce_progress(self, session: Session, path: str, status: str, progress: float) -> None:
        """Tell the window how far a file is."""
        self._announcer.send_confirmed(
            session.id,
            EmbeddingStatus(file_path=encode_path(path), status=status, progress=progress),
        )

    def remove_crashed(self, session: Session, error: BaseException) -> None:
        """Free the id, then tell the window, which opens the repository again at once."""
        with self._lock:
            if self._sessions.get(session.id) is session:
                del self._sessions[session.id]
        self._announcer.send_unconfirmed(
            session.id, SessionCrashed(error=str(error) or type(error).__name__)
        )


def _join_all(
    sessions: list[Session], join: Callable[[Session, float], bool], timeout_seconds: float
) -> bool:
    deadline = time.monotonic() + timeout_seconds
    ended = [join(session, max(0.0, deadline - time.monotonic())) for session in sessions]
    return all(ended)
