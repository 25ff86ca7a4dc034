"""Sessions: one worker thread and inbox per window, and the tables of open sessions.

SessionSupervisor has those of one client and survives the crash of any of them; SessionTable has
those of all clients.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from codekernel.dispatch.routing import Job, Lane, run_on_own_thread
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Repo
from codekernel.domain.untrusted_text import encode_path
from codekernel.errors import KernelError, SessionExists, SessionNotFound
from codekernel.protocol.envelope import Message
from codekernel.protocol.messages.repos import SessionCrashed, SessionPrepared
from codekernel.protocol.messages.search import EmbeddingStatus
from codekernel.runtime.agent_windows import OpenAgentWindows
from codekernel.runtime.workspaces import Workspaces
from codekernel.settings.live import LiveSettings
from codekernel.storage.vault.vault import UsageLedger

if TYPE_CHECKING:  # 0.1 s to import, which the first question can wait for and openRepo cannot
    from codekernel.agent.turns import AgentTurns
    from codekernel.conversation.conversations import Conversations
    from codekernel.conversation.repository_access import RepositoryAccess
    from codekernel.runtime.workspace import Workspace

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SessionServices:
    """What a client's sessions share; ``client`` is its name.

    ``has_mirror`` if it reads histories in repositories.
    """

    workspaces: Workspaces
    settings: LiveSettings
    usage: UsageLedger
    conversations: "Callable[[], Conversations]"
    agents: "Callable[[], AgentTurns]"
    agent_windows: OpenAgentWindows
    has_mirror: bool = False
    client: str = ""


class SessionAnnouncer(Protocol):
    """Tells a client what happens to its sessions; as NotificationSender does."""

    def send_confirmed(self, session_id: int, message: Message) -> None:
        """Send a message that must be confirmed."""

    def send_unconfirmed(self, session_id: int, message: Message) -> None:
        """Send a message that needs no confirmation."""


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
    def is_prepared(self) -> bool:
        """Whether the repository is open."""
        return self._is_prepared

    @property
    def workspace(self) -> "Workspace":
        """What this session shares with the other windows on its repository."""
        if self._workspace is None:
            raise SessionNotFound(f"session {self.id} is not open")
        return self._workspace

    def build_repository_access(self) -> "RepositoryAccess":
        """Return the repository as a conversation needs it."""
        return self.workspace.build_repository_access(has_mirror=self.services.has_mirror)

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
            acquired = self.services.workspaces.acquire(self.repo)
            with self._mirror_histories(), acquired as self._workspace:
                self._announce_prepared()
                self._serve_with_index(self._workspace)
        except BaseException as error:  # noqa: BLE001 - the guard of this thread: only this session dies
            self._handle_crash(error)
        self._work_done.set()
        self._refuse_waiting()

    def _mirror_histories(self) -> AbstractContextManager[None]:
        if self.services.has_mirror:
            return self.services.conversations().mirror(str(self.repo.path))
        return nullcontext()

    def _announce_prepared(self) -> None:
        with self._lock:
            self._is_prepared = self._refusal is None
        if self._is_prepared:
            self._supervisor.announce_prepared(self)

    def _serve_with_index(self, workspace: "Workspace") -> None:
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


class SessionTable:
    """The sessions of all clients; safe to use from any thread."""

    def __init__(self) -> None:
        self._supervisors: list[SessionSupervisor] = []
        self._lock = threading.Lock()

    def register(self, supervisor: "SessionSupervisor") -> None:
        """Add the sessions of a client."""
        with self._lock:
            self._supervisors.append(supervisor)

    def unregister(self, supervisor: "SessionSupervisor") -> None:
        """Forget a client that is gone."""
        with self._lock:
            self._supervisors.remove(supervisor)

    def is_repo_open(self, repo_id: int) -> bool:
        """Return whether a session of any client has this repository open."""
        return any(session.repo.id == repo_id for session in self.list_sessions())

    def list_sessions(self) -> "list[Session]":
        """Return all sessions."""
        with self._lock:
            supervisors = list(self._supervisors)
        return [session for each in supervisors for session in each.list_sessions()]

    def close_repo(
        self, repo_id: int, deleted_by: "SessionSupervisor", timeout_seconds: float
    ) -> bool:
        """Close every session on a deleted repository; false if one would not end in time.

        The windows of other clients are told.
        """
        refusal = SessionNotFound("the repository of this session was deleted")
        with self._lock:
            supervisors = list(self._supervisors)
        closing = [
            session
            for each in supervisors
            for session in each.close_sessions_of(
                repo_id, refusal, is_announced=each is not deleted_by
            )
        ]
        return _join_all(closing, Session.join, timeout_seconds)


class SessionSupervisor:
    """The sessions of one client by id."""

    def __init__(
        self, services: SessionServices, announcer: SessionAnnouncer, table: SessionTable
    ) -> None:
        self._services = services
        self._announcer = announcer
        self._table = table
        self._sessions: dict[int, Session] = {}
        self._lock = threading.Lock()
        table.register(self)

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
        if not self._table.is_repo_open(session.repo.id):
            session.resume_indexing()
        session.close(SessionNotFound(f"session {session_id} was closed"))

    def close_repo(self, repo_id: int, timeout_seconds: float) -> bool:
        """Close every session on a repository that this client deletes, also of other clients.

        Returns false if one of them would not end in time.
        """
        return self._table.close_repo(repo_id, self, timeout_seconds)

    def close_sessions_of(
        self, repo_id: int, refusal: KernelError, *, is_announced: bool
    ) -> list[Session]:
        """Close the sessions of this client on one repository; return them."""
        closing = self._close_where(lambda session: session.repo.id == repo_id, refusal)
        for session in closing if is_announced else ():
            self._announcer.send_unconfirmed(session.id, SessionCrashed(error=str(refusal)))
        return closing

    def list_sessions(self) -> list[Session]:
        """Return the open sessions."""
        with self._lock:
            return list(self._sessions.values())

    def close_all(
        self, refusal: KernelError, timeout_seconds: float, *, with_workspaces: bool = False
    ) -> bool:
        """Close every session, for good; false if one of them would not end in time.

        ``with_workspaces``: also wait until those are closed that nobody else uses.
        """
        closing = self._close_where(lambda _: True, refusal)
        self._table.unregister(self)
        for session in closing:
            if not self._table.is_repo_open(session.repo.id):
                session.resume_indexing()
        join = Session.join if with_workspaces else Session.join_work
        return _join_all(closing, join, timeout_seconds)

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
