"""What the turn of a foreign agent did to the files of its folder: listed, and recorded for undo.

The agent edits by itself, so that files are compared with a snapshot from before the turn. The
changes go into a journal like those of our own agent, which ``codekernel agent --undo`` undoes.
Whatever else was changed in the folder meanwhile is among them.
"""

import hashlib
import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from codekernel.agent.session_store import AgentSession, AgentSessionStore
from codekernel.agent.tools.call_format import truncate_middle
from codekernel.agent.workspace.journal import CHANGED, CREATED, DELETED, ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.agent.workspace.snapshot import (
    FileDelta,
    FolderSnapshot,
    FolderSnapshots,
    SnapshotUnavailable,
)
from codekernel.agent.workspace.text_file import compute_diff
from codekernel.domain.chat import (
    ROLE_ASSISTANT,
    ROLE_USER,
    AgentMessage,
    TextContent,
    ToolResultContent,
    ToolUseContent,
)
from codekernel.errors import KernelError
from codekernel.files.encodings import decode_text

logger = logging.getLogger(__name__)

CHANGES_TOOL = "changes"

_META = {"id": "changes", "complete": True}

# git knows no other modes of a file.
_FILE_MODE, _EXECUTABLE_MODE = 0o644, 0o755


class PromptedSession(Protocol):
    """A session of an agent: its own id of it, and where it works."""

    id: str
    folder: Path


class TurnChanges:
    """What changed in one turn, asked for once it has ended; without a snapshot there is nothing.

    ``unavailable`` says why there is none.
    """

    def __init__(
        self, recorder: "TurnRecorder", session: AgentSession, root: WorkspaceRoot
    ) -> None:
        self._recorder = recorder
        self._session = session
        self._root = root
        self.snapshot: FolderSnapshot | None = None
        self.unavailable = ""

    def build_messages(self) -> Iterator[AgentMessage]:
        """Record the changes, and yield messages that list them; none without any."""
        if self.snapshot is None:
            if self.unavailable:
                yield _build_refusal(self.unavailable)
            return
        try:
            deltas = self.snapshot.list_changes()
            if deltas:
                self._recorder.keep(self._session, self._root, deltas)
                yield from _build_listing(deltas, self._root, self._session.id)
        except KernelError as error:
            logger.warning("the changes of a turn could not be recorded: %s", error)
            yield _build_refusal(str(error))


class TurnRecorder:
    """Takes snapshots and keeps journals under userData; safe to use from several threads."""

    def __init__(self, user_data: Path) -> None:
        self._user_data = user_data
        self._snapshots = FolderSnapshots(user_data)
        self._sessions = AgentSessionStore(user_data)
        self._told: set[str] = set()

    @contextmanager
    def record(self, agent: str, prompted: PromptedSession) -> Iterator[TurnChanges]:
        """Compare the folder before and after the block, in which nothing can be undone.

        Without a snapshot the turn takes place all the same; the first one of its session says so.
        """
        root = WorkspaceRoot.from_path(prompted.folder)
        name = hashlib.sha256(f"{agent}\0{prompted.id}".encode()).hexdigest()[:8]
        session = AgentSession(name, root.folder)
        changes = TurnChanges(self, session, root)
        with ExitStack() as resources:
            resources.enter_context(self._sessions.lock(session))
            try:
                changes.snapshot = resources.enter_context(self._snapshots.open(root.folder))
            except SnapshotUnavailable as error:
                if name not in self._told:
                    self._told.add(name)
                    changes.unavailable = str(error)
            yield changes

    def keep(self, session: AgentSession, root: WorkspaceRoot, deltas: list[FileDelta]) -> None:
        """Record changes that have happened. Raises KernelError."""
        journal = ChangeJournal.from_user_data(self._user_data, session.id, root)
        for delta in deltas:
            if delta.after is None:
                mode = _EXECUTABLE_MODE if delta.is_executable else _FILE_MODE
                journal.record_deletion(CHANGES_TOOL, delta.path, delta.before or b"", mode)
            else:
                with journal.record_write(
                    CHANGES_TOOL, delta.path, delta.before, delta.after, delta.new_folders
                ):
                    pass
        self._sessions.save(session)


def _build_refusal(reason: str) -> AgentMessage:
    text = f"What this agent changes can be neither listed nor undone by codekernel: {reason}."
    return AgentMessage(ROLE_ASSISTANT, (TextContent(text),), _META)


def _build_listing(
    deltas: list[FileDelta], root: WorkspaceRoot, session: str
) -> Iterator[AgentMessage]:
    """Yield a tool use and its result, which every device shows with its diff."""
    files = [f"{root.format_path(delta.path)} ({_name_kind(delta)})" for delta in deltas]
    name = f"{_META['id']}_{session}"
    use = ToolUseContent(name, CHANGES_TOOL, {"files": files})
    yield AgentMessage(ROLE_ASSISTANT, (use,), _META)
    text = "\n".join([*files, "", f"To undo this: codekernel agent --undo {session}"])
    diff = "".join(_compute_delta_diff(delta, root) for delta in deltas)
    result = ToolResultContent(name, truncate_middle(text), diff=truncate_middle(diff))
    yield AgentMessage(ROLE_USER, (result,))


def _name_kind(delta: FileDelta) -> str:
    if delta.before is None:
        return CREATED
    return DELETED if delta.after is None else CHANGED


def _compute_delta_diff(delta: FileDelta, root: WorkspaceRoot) -> str:
    before, after = (decode_text(content or b"") for content in (delta.before, delta.after))
    if before is None or after is None:
        return ""
    return compute_diff(root.format_path(delta.path), before.text, after.text).text
