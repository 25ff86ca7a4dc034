"""The repository session of each browser tab.

Opened, reopened after a crash, and kept for some seconds after the tab has gone so that a
reload finds it.
"""

import itertools
import logging
import threading
import time
from dataclasses import dataclass
from enum import Enum
from typing import Any

from codekernel.adapters.web import kernel_client
from codekernel.adapters.web.kernel_client import CallFailed, KernelClient
from codekernel.adapters.web.outbox import Outbox
from codekernel.adapters.web.page_api import (
    MAX_CONSECUTIVE_RESTARTS,
    MAX_REPOSITORIES,
    STABLE_AFTER_SECONDS,
)
from codekernel.domain.concurrency import start_thread
from codekernel.protocol import MAIN_SESSION_ID


class RepoSessionState(Enum):
    """The state of a session; the values are sent to pages."""

    OPENING = "opening"
    PREPARED = "prepared"
    CRASHED = "crashed"
    LOST = "lost"
    CLOSED = "closed"


@dataclass(eq=False, slots=True)
class RepoSession:
    """A session of the kernel and the tab that has it, which is known by its outbox."""

    id: int
    repo_name: str
    owner: Outbox | None
    path: str = ""
    state: RepoSessionState = RepoSessionState.OPENING
    reopen_count: int = 0
    answer_count: int = 0  # answers that are being written
    prepared_at: float | None = None

    def describe(self) -> dict[str, str]:
        """Return the reply to openRepo."""
        return {"repoName": self.repo_name, "path": self.path, "state": self.state.value}

    def mark_prepared(self, path: str) -> None:
        """Note that the kernel has prepared the session."""
        self.path, self.state = path, RepoSessionState.PREPARED
        self.prepared_at = time.monotonic()

    def mark_crashed(self) -> bool:
        """Note a crash; return whether to open the session again."""
        calm = self.prepared_at and time.monotonic() - self.prepared_at >= STABLE_AFTER_SECONDS
        self.reopen_count = 0 if calm else self.reopen_count
        self.prepared_at = None
        again = self.owner is not None and self.reopen_count < MAX_CONSECUTIVE_RESTARTS
        self.reopen_count += 1
        self.state = RepoSessionState.CRASHED if again else RepoSessionState.LOST
        return again

    def send_event(self, event_type: str, reason: CallFailed | None = None) -> None:
        """Send an event to the tab, if there is one."""
        if self.owner is not None:
            failure = {"failure": kernel_client.dump_failure(reason)} if reason else {}
            event = {"type": event_type, "repoName": self.repo_name, **failure}
            self.owner.put({"event": event})


logger = logging.getLogger(__name__)

# Longer than a reload takes, and than the first attempts of a tab to reconnect.
SESSION_LINGER_SECONDS = 10.0


class TabSessions:
    """The sessions of all tabs; for any thread but the one that reads from the kernel."""

    def __init__(
        self, kernel: KernelClient, linger_seconds: float = SESSION_LINGER_SECONDS
    ) -> None:
        self._kernel = kernel
        self._linger_seconds = linger_seconds
        self._ids = itertools.count(1)
        self._by_id: dict[int, RepoSession] = {}
        # What each tab shows, and what it showed before: the latest last.
        self._by_owner: dict[Outbox, RepoSession] = {}
        self._kept: dict[Outbox, list[RepoSession]] = {}
        # The latest openRepo of a tab; an older one that is still running is obsolete.
        self._latest_requests: dict[Outbox, object] = {}
        self._detached: dict[RepoSession, threading.Timer | None] = {}
        self._lock = threading.Lock()

    def open(self, owner: Outbox, repo_name: str) -> dict[str, str]:
        """Show a repository in a tab, with the session that it has. Raises CallFailed.

        What the tab showed before stays open, so that an answer goes on there.
        """
        request = object()
        with self._lock:
            self._latest_requests[owner] = request
            if shown := self._by_owner.pop(owner, None):
                self._kept.setdefault(owner, []).append(shown)
            kept = self._kept.get(owner, [])
            before = next((each for each in kept if each.repo_name == repo_name), None)
            if before:
                kept.remove(before)
                self._by_owner[owner] = before
        if before:
            if before.state is RepoSessionState.LOST:
                self._reopen(before)
            return before.describe()
        session = self._reattach(owner, repo_name) or self._open_session(owner, repo_name)
        with self._lock:
            wanted = self._latest_requests.get(owner) is request
            if wanted:
                self._by_owner[owner] = session
            excess = self._take_excess(owner)
        for each in excess:
            self._close_session(each)
        if not wanted:  # the tab is gone by now, or wants another one
            self._start_linger(session)
            raise CallFailed(
                kernel_client.SESSION_CLOSED, "The window wants another repository by now."
            )
        return session.describe()

    def open_folder_in_advance(self, folder: str) -> RepoSession:
        """Open a folder, so that it is registered and indexed, for the first tab that opens it.

        Raises CallFailed.
        """
        session = RepoSession(next(self._ids), "", None)
        with self._lock:
            self._by_id[session.id] = session
        fields = {"path": folder, "sessionId": session.id}
        try:
            opened = self._kernel.request(MAIN_SESSION_ID, "openFolder", fields)
        except CallFailed as error:
            self._forget(session, error)
            raise
        session.repo_name, session.path = opened["repoName"], opened["path"]
        with self._lock:
            self._detached[session] = None
        return session

    def get_session(self, owner: Outbox) -> RepoSession:
        """Return the session of a tab. Raises CallFailed."""
        with self._lock:
            session = self._by_owner.get(owner)
        if session is None:
            raise CallFailed("SESSION_NOT_FOUND", "This window has no repository open.")
        return session

    def close(self, owner: Outbox) -> None:
        """Close what the tab shows, if it shows a repository."""
        with self._lock:
            self._latest_requests.pop(owner, None)
            session = self._by_owner.pop(owner, None)
        if session:
            self._close_session(session)

    def detach(self, owner: Outbox) -> None:
        """Let the sessions of a tab that is gone linger, as a reload opens one again. Never waits.

        What it shows is the last to begin, so that it is the last to be closed.
        """
        with self._lock:
            self._latest_requests.pop(owner, None)
            sessions = self._kept.pop(owner, [])
            if shown := self._by_owner.pop(owner, None):
                sessions = [*sessions, shown]
        for session in sessions:
            self._start_linger(session)

    def _take_excess(self, owner: Outbox) -> list[RepoSession]:
        """Return what the tab has not shown for longest and keeps no more; with the lock."""
        kept = self._kept.get(owner, [])
        idle = [each for each in kept if not each.answer_count]
        excess = idle[: max(0, len(kept) + 1 - MAX_REPOSITORIES)]
        self._kept[owner] = [each for each in kept if each not in excess]
        return excess

    def on_repo_deleted(self, repo_name: str) -> None:
        """Forget the sessions of a deleted repository, which the kernel has closed."""
        reason = CallFailed(kernel_client.SESSION_CLOSED, f"{repo_name} was deleted.")
        with self._lock:
            gone = [each for each in self._by_id.values() if each.repo_name == repo_name]
        for session in gone:
            self._forget(session, reason)

    def on_message(self, session_id: int, message: dict[str, Any]) -> bool:
        """Handle a message to a session; return whether the session is known. Never waits."""
        with self._lock:
            session = self._by_id.get(session_id)
        if session is None:
            return False
        match message["type"]:
            case "embeddingStatus":
                with self._lock:
                    is_kept = any(session in kept for kept in self._kept.values())
                if session.owner and not is_kept:
                    session.owner.put_status(message)
            case "sessionPrepared":
                session.mark_prepared(message["path"])
                session.send_event("sessionPrepared")
            case "sessionCrashed":
                self._on_crash(session, CallFailed("SESSION_NOT_FOUND", str(message["error"])))
        return True

    def _reattach(self, owner: Outbox, repo_name: str) -> RepoSession | None:
        with self._lock:
            for session, timer in self._detached.items():
                if session.repo_name == repo_name and session.state in _USABLE_STATES:
                    if timer:
                        timer.cancel()
                    del self._detached[session]
                    session.owner = owner
                    return session
        return None

    def _open_session(self, owner: Outbox | None, repo_name: str) -> RepoSession:
        session = RepoSession(next(self._ids), repo_name, owner)
        with self._lock:
            self._by_id[session.id] = session
        try:
            self._request_open(session)
        except CallFailed as error:
            self._forget(session, error)
            raise
        return session

    def _reopen(self, session: RepoSession) -> None:
        session.state = RepoSessionState.OPENING
        try:
            self._request_open(session)
        except CallFailed as error:
            session.state = RepoSessionState.LOST
            session.send_event("sessionLost", error)
            raise

    def _request_open(self, session: RepoSession) -> None:
        fields = {"repoName": session.repo_name, "sessionId": session.id}
        session.path = self._kernel.request(MAIN_SESSION_ID, "openRepo", fields)["path"]

    def _on_crash(self, session: RepoSession, reason: CallFailed) -> None:
        """Open a crashed session again, a few times; the kernel has freed its id."""
        self._kernel.cancel_requests(session.id, reason)
        if session.mark_crashed():
            session.send_event("sessionCrashed", reason)
            start_thread("reopen", lambda: self._reopen(session), _log_reopen_failure)
        elif session.owner:
            session.send_event("sessionLost", reason)
        else:
            self._forget(session, reason)

    def _start_linger(self, session: RepoSession) -> None:
        session.owner = None
        timer = threading.Timer(self._linger_seconds, self._expire, [session])
        timer.daemon = True
        with self._lock:
            self._detached[session] = timer
        timer.start()

    def _expire(self, session: RepoSession) -> None:
        with self._lock:
            if session not in self._detached:  # attached again meanwhile
                return
            del self._detached[session]
        self._close_session(session)

    def _close_session(self, session: RepoSession) -> None:
        """Close a session; one that is gone already counts as closed."""
        self._forget(session, kernel_client.make_closed_failure())
        try:
            self._kernel.request(MAIN_SESSION_ID, "closeRepo", {"sessionId": session.id})
        except CallFailed as error:
            logger.info("session %d was closed already: %s", session.id, error)

    def _forget(self, session: RepoSession, reason: CallFailed) -> None:
        with self._lock:
            self._by_id.pop(session.id, None)
            self._detached.pop(session, None)
            for owner in [it for it, its in self._by_owner.items() if its is session]:
                del self._by_owner[owner]
            for kept in self._kept.values():
                if session in kept:
                    kept.remove(session)
        session.state = RepoSessionState.CLOSED
        self._kernel.cancel_requests(session.id, reason)


_USABLE_STATES = {RepoSessionState.OPENING, RepoSessionState.PREPARED}


def _log_reopen_failure(error: BaseException) -> None:
    if isinstance(error, CallFailed):  # the tab got sessionLost
        logger.info("a session could not be opened again: %s", error)
    else:
        kernel_client.log_crash(error)
