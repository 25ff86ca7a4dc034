"""The session, journal and root that an agent's turn works in, and undoing what it changed.

Changes are undone newest first, and it is said what became of each file. A note in the session's
transcript keeps the agent from assuming that its work is still there.
"""

import logging
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from codekernel.agent.session_store import AgentSession, AgentSessionStore, SessionWriter
from codekernel.agent.tool_policy import ToolError
from codekernel.agent.workspace.journal import CREATED, FOLDERS, ChangeJournal, ChangeRecord
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.domain.turn import AgentTurnRef, PastTurn, UndoResult, UndoState
from codekernel.errors import KernelError, WrongParam

logger = logging.getLogger(__name__)


class AgentWorkspace:
    """Session, journal and root of an agent's turn; call ``prepare`` before using them."""

    session: AgentSession
    journal: ChangeJournal
    writer: SessionWriter

    def __init__(
        self, user_data: Path, folder: Path, sessions: AgentSessionStore, within: str = ""
    ) -> None:
        """``within`` is a folder through which the root is reached. Raises WrongParam."""
        self.root = WorkspaceRoot.from_path(folder)
        if within:
            try:
                self.root = WorkspaceRoot.from_path(Path(within)).get_subroot(str(folder))
            except ToolError as error:
                raise WrongParam(str(error)) from error
        self._user_data = user_data
        self._sessions = sessions

    def prepare(
        self, conversation_id: int, wanted: str, past: Sequence[PastTurn], resources: ExitStack
    ) -> AgentTurnRef:
        """Choose the session and lock it: the ``wanted`` one, the last one here, or a new one.

        Raises WrongParam for one that cannot be continued, or that another process runs.
        """
        name = next((turn.session for turn in reversed(past) if turn.session), "")
        self.session = (
            self._load_wanted(wanted)
            if wanted
            else self._load_session(name) or self._sessions.create(self.root.folder)
        )
        self.session.conversation_id = conversation_id
        try:
            resources.enter_context(self._sessions.lock(self.session))
        except KernelError as error:
            raise WrongParam(str(error)) from error
        self.journal = ChangeJournal.from_user_data(self._user_data, self.session.id, self.root)
        self.writer = self._sessions.open_writer(self.session)
        return AgentTurnRef(self.session.id, self.journal.next_number)

    def _load_wanted(self, name: str) -> AgentSession:
        try:
            session = self._sessions.load(name)
        except KernelError as error:
            raise WrongParam(str(error)) from error
        if session.root != self.root.folder:
            raise WrongParam(f"The session {name} is about another folder.")
        return session

    def _load_session(self, name: str) -> AgentSession | None:
        """Return the session of the agent's last turn here; None if it cannot be continued."""
        if not name:
            return None
        try:
            session = self._sessions.load(name)
        except KernelError as error:
            logger.warning("an agent starts a new session: %s", error)
            return None
        return session if session.root == self.root.folder else None


_UNDONE_MESSAGE = "[The person has undone your changes. Now as before your work: {paths}.]"

_FOLDER_NOT_EMPTY = "Other files lie in this folder by now."


def undo_session(
    user_data: Path, name: str, root: WorkspaceRoot, first: int = 0, end: int = sys.maxsize
) -> list[UndoResult]:
    """Undo the changes of a session from number ``first`` on, up to ``end`` without it.

    Raises KernelError if the session is at work, StorageError if its journal cannot be read.
    """
    sessions = AgentSessionStore(user_data)
    with sessions.lock(AgentSession(name, root.folder)):
        journal = ChangeJournal.from_user_data(user_data, name, root)
        undone = undo_changes(journal, root, first, end)
        _notify_session(sessions, name, undone)
    return undone


def undo_changes(
    journal: ChangeJournal, root: WorkspaceRoot, first: int, end: int
) -> list[UndoResult]:
    """Undo what can be undone, and return for each file the result with its reason."""
    chosen = [change for change in journal.changes if first <= change.number < end]
    states: dict[str, UndoResult] = {}
    for change in sorted(chosen, key=lambda each: each.number, reverse=True):
        before = states.get(change.path)
        if before is None or before.state is not UndoState.KEPT:
            states[change.path] = _undo_change(journal, root, change)
    order = dict.fromkeys(change.path for change in chosen)
    return [states[path] for path in order]


def find_latest_with_changes(user_data: Path, root: WorkspaceRoot) -> str | None:
    """The session about this folder that was saved last, of those that can be undone."""
    files = (user_data / "agent" / "sessions").glob("*.json")
    sessions = AgentSessionStore(user_data)
    for path in sorted(files, key=lambda path: path.lstat().st_mtime_ns, reverse=True):
        try:
            session = sessions.load(path.stem)
        except KernelError:
            continue
        if session.root != root.folder:
            continue
        if ChangeJournal.from_user_data(user_data, session.id, root).changes:
            return session.id
    return None


def _undo_change(journal: ChangeJournal, root: WorkspaceRoot, change: ChangeRecord) -> UndoResult:
    try:
        journal.undo(change)
    except KernelError as error:
        return UndoResult(change.path, UndoState.KEPT, str(error))
    if change.kind == FOLDERS and _is_folder(root, change.path):
        return UndoResult(change.path, UndoState.KEPT, _FOLDER_NOT_EMPTY)
    came = change.kind in {CREATED, FOLDERS}
    return UndoResult(change.path, UndoState.REMOVED if came else UndoState.RESTORED)


def _is_folder(root: WorkspaceRoot, path: str) -> bool:
    try:
        with root.reach_real(root.folder / path) as place:
            return place.is_folder
    except KernelError:
        return False


def _notify_session(sessions: AgentSessionStore, name: str, undone: Sequence[UndoResult]) -> None:
    paths = ", ".join(each.path for each in undone if each.state is not UndoState.KEPT)
    if not paths:
        return
    try:
        session = sessions.load(name)
        session.transcript.add_user_message(_UNDONE_MESSAGE.format(paths=paths))
        sessions.save(session)
    except KernelError as error:
        logger.warning("the undo could not be added to the session. %s", error)
