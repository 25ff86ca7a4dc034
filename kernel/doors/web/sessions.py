"""Which tab has which session: one each.

A tab that goes leaves its session behind for some seconds. A page that is loaded again, or whose
connection broke, finds it as it was, and the index is not closed and opened in between.
"""

import itertools
import logging
import threading
from typing import Any

from kernel.doors.web import threads
from kernel.doors.web.exchange import Exchange
from kernel.doors.web.failures import SESSION_CLOSED, CallFailed, closed
from kernel.doors.web.repo_session import Owner, RepoSession, State
from kernel.protocol.envelope import MAIN_SESSION_ID

logger = logging.getLogger(__name__)

# Longer than a page takes to load again, and than the first attempts of a tab to connect again.
LINGER_SECONDS = 10.0


class Sessions:
    """The sessions of all tabs; any thread may ask, but not the one that hears the kernel."""

    def __init__(self, exchange: Exchange, linger_seconds: float = LINGER_SECONDS) -> None:
        self._exchange = exchange
        self._linger_seconds = linger_seconds
        self._ids = itertools.count(1)
        self._by_id: dict[int, RepoSession] = {}
        self._by_owner: dict[Owner, RepoSession] = {}
        # The latest wish of a tab; an older one is out of date.
        self._wishes: dict[Owner, object] = {}
        self._left: dict[RepoSession, threading.Timer | None] = {}
        self._lock = threading.Lock()

    def open(self, owner: Owner, repo_name: str) -> dict[str, str]:
        """Open a repository for a tab, or give it the one that it has; raises CallFailed."""
        wish = object()
        with self._lock:
            before = self._by_owner.get(owner)
            has_it = before is not None and before.repo_name == repo_name
            if not has_it:
                self._wishes[owner] = wish
                self._by_owner.pop(owner, None)
        if before and has_it:
            if before.state is State.LOST:
                self._reopen(before)
            return before.described()
        if before:
            self._close(before)
        session = self._found_again(owner, repo_name) or self._opened(owner, repo_name)
        with self._lock:
            wanted = self._wishes.get(owner) is wish
            if wanted:
                self._by_owner[owner] = session
        if not wanted:  # the tab is gone by now, or wants another one
            self._leave(session)
            raise CallFailed(SESSION_CLOSED, "The window wants another repository by now.")
        return session.described()

    def open_ahead(self, repo_name: str) -> bool:
        """Open a repository, so that it is indexed, for the first tab that asks for it.

        False if a tab has asked already.
        """
        with self._lock:
            if any(each.repo_name == repo_name for each in self._by_id.values()):
                return False
        session = self._opened(None, repo_name)
        with self._lock:
            self._left[session] = None
        return True

    def of(self, owner: Owner) -> RepoSession:
        """The tab's session; raises CallFailed."""
        with self._lock:
            session = self._by_owner.get(owner)
        if session is None:
            raise CallFailed("SESSION_NOT_FOUND", "This window has no repository open.")
        return session

    def close(self, owner: Owner) -> None:
        """Close the tab's session, if it has one."""
        with self._lock:
            self._wishes.pop(owner, None)
            session = self._by_owner.pop(owner, None)
        if session:
            self._close(session)

    def leave(self, owner: Owner) -> None:
        """The tab is gone; it may come back. Never waits."""
        with self._lock:
            self._wishes.pop(owner, None)
            session = self._by_owner.pop(owner, None)
        if session:
            self._leave(session)

    def deleted(self, repo_name: str) -> None:
        """The kernel has closed the sessions of a repository that it forgot."""
        reason = CallFailed(SESSION_CLOSED, f"{repo_name} was deleted.")
        with self._lock:
            gone = [each for each in self._by_id.values() if each.repo_name == repo_name]
        for session in gone:
            self._forget(session, reason)

    def hear(self, session_id: int, message: dict[str, Any]) -> bool:
        """Take what the kernel says to a session; whether it is known. Never waits."""
        with self._lock:
            session = self._by_id.get(session_id)
        if session is None:
            return False
        match message["type"]:
            case "embeddingStatus":
                if session.owner:
                    session.owner.tell_status(message)
            case "sessionPrepared":
                session.prepared(message["path"])
                session.tell("sessionPrepared")
            case "sessionCrashed":
                self._crashed(session, CallFailed("SESSION_NOT_FOUND", str(message["error"])))
        return True

    def _found_again(self, owner: Owner, repo_name: str) -> RepoSession | None:
        with self._lock:
            for session, timer in self._left.items():
                if session.repo_name == repo_name and session.state in _USABLE:
                    if timer:
                        timer.cancel()
                    del self._left[session]
                    session.owner = owner
                    return session
        return None

    def _opened(self, owner: Owner | None, repo_name: str) -> RepoSession:
        session = RepoSession(next(self._ids), repo_name, owner)
        with self._lock:
            self._by_id[session.id] = session
        try:
            self._ask_to_open(session)
        except CallFailed as error:
            self._forget(session, error)
            raise
        return session

    def _reopen(self, session: RepoSession) -> None:
        session.state = State.OPENING
        try:
            self._ask_to_open(session)
        except CallFailed as error:
            session.state = State.LOST
            session.tell("sessionLost", error)
            raise

    def _ask_to_open(self, session: RepoSession) -> None:
        fields = {"repoName": session.repo_name, "sessionId": session.id}
        session.path = self._exchange.ask(MAIN_SESSION_ID, "openRepo", fields)["path"]

    def _crashed(self, session: RepoSession, reason: CallFailed) -> None:
        """The kernel has freed the id before it said so: open it again, but not for ever."""
        self._exchange.abandon(session.id, reason)
        if session.crashed():
            session.tell("sessionCrashed", reason)
            threads.start("reopen", lambda: self._reopen(session), _note)
        elif session.owner:
            session.tell("sessionLost", reason)
        else:
            self._forget(session, reason)

    def _leave(self, session: RepoSession) -> None:
        session.owner = None
        timer = threading.Timer(self._linger_seconds, self._expire, [session])
        timer.daemon = True
        with self._lock:
            self._left[session] = timer
        timer.start()

    def _expire(self, session: RepoSession) -> None:
        with self._lock:
            if session not in self._left:  # found again at the last moment
                return
            del self._left[session]
        self._close(session)

    def _close(self, session: RepoSession) -> None:
        """Close it; a session that is gone already counts as closed."""
        self._forget(session, closed())
        try:
            self._exchange.ask(MAIN_SESSION_ID, "closeRepo", {"sessionId": session.id})
        except CallFailed as error:
            logger.info("session %d was closed already: %s", session.id, error)

    def _forget(self, session: RepoSession, reason: CallFailed) -> None:
        with self._lock:
            self._by_id.pop(session.id, None)
            self._left.pop(session, None)
            for owner in [it for it, its in self._by_owner.items() if its is session]:
                del self._by_owner[owner]
        session.state = State.CLOSED
        self._exchange.abandon(session.id, reason)


_USABLE = {State.OPENING, State.PREPARED}


def _note(error: BaseException) -> None:
    if isinstance(error, CallFailed):  # the tab was told by sessionLost
        logger.info("a session could not be opened again: %s", error)
    else:
        threads.log_crash(error)
