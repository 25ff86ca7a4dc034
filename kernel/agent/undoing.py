"""Undoing what an agent did to files: change by change, newest first, and what became of each file.

The agent's session is told, so that it does not take its work for done when it goes on.
"""

import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from kernel.agent.journal import CREATED, FOLDERS, Change, Journal
from kernel.agent.root import Root
from kernel.agent.saved_sessions import SavedSession, SavedSessions
from kernel.domain.undone import State, Undone
from kernel.errors import KernelError

logger = logging.getLogger(__name__)

_TOLD = "[The person has undone your changes. Now as before your work: {paths}.]"
_NOT_EMPTY = "Other files lie in this folder by now."


def undo_session(
    user_data: Path, name: str, root: Root, first: int = 0, end: int = sys.maxsize
) -> list[Undone]:
    """Undo the changes of a session from number ``first`` on, up to ``end`` without it.

    Raises KernelError if the session is at work, StorageError if its journal cannot be read.
    """
    sessions = SavedSessions(user_data)
    with sessions.held(SavedSession(name, root.folder)):
        journal = Journal.under(user_data, name, root)
        undone = undo_changes(journal, root, first, end)
        _tell(sessions, name, undone)
    return undone


def undo_changes(journal: Journal, root: Root, first: int, end: int) -> list[Undone]:
    """Undo what can be; what cannot is kept as it is, and said why."""
    meant = [change for change in journal.changes if first <= change.number < end]
    states: dict[str, Undone] = {}
    for change in sorted(meant, key=lambda each: each.number, reverse=True):
        before = states.get(change.path)
        if before is None or before.state is not State.KEPT:
            states[change.path] = _undone(journal, root, change)
    order = dict.fromkeys(change.path for change in meant)
    return [states[path] for path in order]


def latest_with_changes(user_data: Path, root: Root) -> str | None:
    """The session about this folder that was saved last, of those that can be undone."""
    files = sorted(
        (user_data / "agent" / "sessions").glob("*.json"),
        key=lambda path: path.lstat().st_mtime_ns,
        reverse=True,
    )
    sessions = SavedSessions(user_data)
    for path in files:
        try:
            session = sessions.load(path.stem)
        except KernelError:
            continue
        if session.root == root.folder and Journal.under(user_data, session.id, root).changes:
            return session.id
    return None


def _undone(journal: Journal, root: Root, change: Change) -> Undone:
    try:
        journal.undo(change)
    except KernelError as error:
        return Undone(change.path, State.KEPT, str(error))
    if change.kind == FOLDERS and _is_folder(root, change.path):
        return Undone(change.path, State.KEPT, _NOT_EMPTY)
    came = change.kind in {CREATED, FOLDERS}
    return Undone(change.path, State.REMOVED if came else State.RESTORED)


def _is_folder(root: Root, path: str) -> bool:
    try:
        with root.reach_real(root.folder / path) as place:
            return place.is_folder
    except KernelError:
        return False


def _tell(sessions: SavedSessions, name: str, undone: Sequence[Undone]) -> None:
    paths = ", ".join(each.path for each in undone if each.state is not State.KEPT)
    if not paths:
        return
    try:
        session = sessions.load(name)
        session.transcript.asked(_TOLD.format(paths=paths))
        sessions.save(session)
    except KernelError as error:
        logger.warning("the agent is not told what was undone. %s", error)
