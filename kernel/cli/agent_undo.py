"""``codekernel agent --undo``: what an agent's session did to files is taken back."""

import argparse
import os
import sys
from pathlib import Path

from kernel.agent.root import Root
from kernel.agent.saved_sessions import SavedSessions
from kernel.agent.undoing import latest_with_changes, undo_session
from kernel.cli.search_streams import say, speak_utf_8
from kernel.domain.path_text import terminal_path
from kernel.domain.terminal_text import escape_line
from kernel.domain.undone import State, Undone
from kernel.errors import KernelError
from kernel.storage.user_data import open_user_data

DONE, NOT_ALL = 0, 1


def agent_undo(chosen: argparse.Namespace) -> int:
    """Undo and say what became of each file: 0 if nothing is left to undo, else 1."""
    speak_utf_8(sys.stdout)
    try:
        undone = _undone(open_user_data(chosen.user_data, os.environ).root, chosen)
    except KernelError as error:
        say(str(error))
        return NOT_ALL
    for each in undone:
        reason = f": {each.reason}" if each.reason else ""
        sys.stdout.write(f"{each.state:8} {terminal_path(each.path)}{escape_line(reason)}\n")
    return NOT_ALL if any(each.state is State.KEPT for each in undone) else DONE


def _undone(user_data: Path, chosen: argparse.Namespace) -> list[Undone]:
    """Raises KernelError: no such session, or it is at work."""
    if chosen.undo:
        session = SavedSessions(user_data).load(chosen.undo)
        name, root = session.id, Root.at(session.root)
    else:
        root = Root.at(Path(chosen.root))
        latest = latest_with_changes(user_data, root)
        if latest is None:
            say("there is nothing to undo in this folder")
            return []
        name = latest
    undone = undo_session(user_data, name, root)
    say(f"session {name}: {'nothing to undo' if not undone else 'undone'}")
    return undone
