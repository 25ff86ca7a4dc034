"""Where an agent of a conversation works: its session, its journal, the folder it may touch."""

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from kernel.agent.journal import Journal
from kernel.agent.root import Root
from kernel.agent.saved_sessions import SavedSession, SavedSessions
from kernel.agent.session_keeper import Keeper
from kernel.domain.turn import AgentPlace, PastTurn
from kernel.errors import KernelError, WrongParam

logger = logging.getLogger(__name__)


class Workbench:
    """``prepare`` is called once, when the conversation is held; then everything else is there."""

    session: SavedSession
    journal: Journal
    keeper: Keeper

    def __init__(
        self, user_data: Path, folder: Path, sessions: SavedSessions | None = None
    ) -> None:
        self.root = Root.at(folder)
        self._user_data = user_data
        self._sessions = sessions or SavedSessions(user_data)

    def prepare(self, past: Sequence[PastTurn], held: ExitStack) -> AgentPlace:
        """Choose the session and hold it; raises WrongParam while it is at work elsewhere."""
        name = next((turn.session for turn in reversed(past) if turn.session), "")
        self.session = self._known(name) or self._sessions.new(self.root.folder)
        try:
            held.enter_context(self._sessions.held(self.session))
        except KernelError as error:
            raise WrongParam(str(error)) from error
        self.journal = Journal.under(self._user_data, self.session.id, self.root)
        self.keeper = self._sessions.keeper(self.session)
        return AgentPlace(self.session.id, self.journal.next_number)

    def _known(self, name: str) -> SavedSession | None:
        """The session of the agent's last turn here; None if it cannot go on."""
        if not name:
            return None
        try:
            session = self._sessions.load(name)
        except KernelError as error:
            logger.warning("an agent begins anew: %s", error)
            return None
        return session if session.root == self.root.folder else None
