"""Undo the file changes of an agent session, newest first, and report what became of each file.

A note in the session's transcript keeps the agent from assuming that its work is still there.
"""

import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from codekernel.agent.session_store import AgentSession, AgentSessionStore
from codekernel.agent.workspace.journal import CREATED, FOLDERS, ChangeJournal, ChangeRecord
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.domain.turn import UndoResult, UndoState
from codekernel.errors import KernelError

logger = logging.getLogger(__name__)

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
