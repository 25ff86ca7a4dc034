"""Which windows have which repositories open; outlives the crash of any of them."""

import threading
import time
from collections.abc import Callable

from kernel.dispatch.announcing import Announcer
from kernel.domain.path_text import encode_path
from kernel.domain.repo import Repo
from kernel.errors import KernelError, SessionExists, SessionNotFound
from kernel.protocol.messages.lifecycle import SessionCrashed, SessionPrepared
from kernel.protocol.messages.search import EmbeddingStatus
from kernel.sessions.session import Session, SessionEvents, SessionServices


class Supervisor:
    """The table of sessions by id."""

    def __init__(self, services: SessionServices, announcer: Announcer) -> None:
        self._services = services
        self._announcer = announcer
        self._events = SessionEvents(
            prepared=self._on_prepared, progress=self._on_progress, crashed=self._on_crashed
        )
        self._sessions: dict[int, Session] = {}
        self._lock = threading.Lock()

    def open(self, session_id: int, repo: Repo) -> Session:
        """Reserve the id for a new session, which the caller starts once it has said so."""
        with self._lock:
            if session_id in self._sessions:
                raise SessionExists(
                    f"session {session_id} has {self._sessions[session_id].repo.name} open; "
                    "close it first, or use another id"
                )
            session = Session(session_id, repo, self._services, self._events)
            self._sessions[session_id] = session
            return session

    def find(self, session_id: int) -> Session | None:
        """The session with this id, if it is open."""
        return self._sessions.get(session_id)

    def cancel(self, session_id: int) -> None:
        """Tell a session's running work that its window is going away."""
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
            session.end_pause()
        session.close(SessionNotFound(f"session {session_id} was closed"))

    def close_repo(self, repo_id: int, timeout_seconds: float) -> bool:
        """Close every session on one repository; false if one of them would not end in time."""
        refusal = SessionNotFound("the repository of this session was deleted")
        closing = self._close_where(lambda session: session.repo.id == repo_id, refusal)
        return _all_end(closing, Session.join, timeout_seconds)

    def close_all(self, refusal: KernelError, timeout_seconds: float) -> bool:
        """Close every session; false if one of them would not end in time."""
        return _all_end(
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

    def _on_prepared(self, session: Session) -> None:
        self._announcer.ask(
            session.id, SessionPrepared(repo_name=session.repo.name, path=str(session.repo.path))
        )

    def _on_progress(self, session: Session, path: str, status: str, progress: float) -> None:
        self._announcer.ask(
            session.id,
            EmbeddingStatus(file_path=encode_path(path), status=status, progress=progress),
        )

    def _on_crashed(self, session: Session, error: BaseException) -> None:
        """Free the id before the window hears of it, for it opens the repository again at once."""
        with self._lock:
            if self._sessions.get(session.id) is session:
                del self._sessions[session.id]
        self._announcer.shout(session.id, SessionCrashed(error=str(error) or type(error).__name__))


def _all_end(
    sessions: list[Session], join: Callable[[Session, float], bool], timeout_seconds: float
) -> bool:
    deadline = time.monotonic() + timeout_seconds
    ended = [join(session, max(0.0, deadline - time.monotonic())) for session in sessions]
    return all(ended)
