"""The session, journal and root that an agent's turn works in."""

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from codekernel.agent.session_store import AgentSession, AgentSessionStore, SessionWriter
from codekernel.agent.tool_policy import ToolError
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.domain.turn import AgentTurnRef, PastTurn
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
