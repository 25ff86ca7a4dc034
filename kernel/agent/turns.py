"""Agents in conversations: their turns begin here, are allowed what they ask for, and undone."""

import shutil
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from kernel.agent.conversing import AgentTalk
from kernel.agent.root import Root
from kernel.agent.saved_sessions import SavedSessions
from kernel.agent.undoing import undo_session
from kernel.agent.workbench import Workbench
from kernel.conversation.conversations import Conversations
from kernel.conversation.place import Place
from kernel.conversation.running import cannot_be_undone
from kernel.domain.cancel import CancelToken
from kernel.domain.turn import AgentPlace, PastTurn
from kernel.domain.undone import State, Undone
from kernel.errors import WrongParam
from kernel.protocol.history_file import HistoryFile, TurnEntry


class AgentTurns:
    """All agents in the conversations of one userData folder; any thread may ask."""

    def __init__(self, user_data: Path, conversations: Conversations) -> None:
        self._user_data = user_data
        self._conversations = conversations
        self._sessions = SavedSessions(user_data)
        self._sessions.on_unsaved = conversations.save_too(self._sessions.save_unsaved)
        self._at_work: dict[int, AgentTalk] = {}

    def begin(
        self, conversation_id: int, query: str, model: str, place: Place, cancel: CancelToken
    ) -> AgentTalk:
        """Accept a task; raises as ``Conversations.begin`` does."""
        bench = Workbench(self._user_data, place.root, self._sessions)

        def prepare(past: Sequence[PastTurn], held: ExitStack) -> AgentPlace:
            held.callback(self._at_work.pop, conversation_id, None)
            return bench.prepare(past, held)

        accepted = self._conversations.accept(
            conversation_id, query, model, place, cancel, prepare=prepare
        )
        talk = AgentTalk(accepted, bench)
        self._at_work[conversation_id] = talk
        return talk

    def decide(
        self, conversation_id: int, tool_use_id: str, *, allowed: bool, for_turn: bool
    ) -> None:
        """Answer a tool that waits. Raises WrongParam if none of this id does."""
        talk = self._at_work.get(conversation_id)
        if talk is None or not talk.decide(tool_use_id, allowed=allowed, for_turn=for_turn):
            raise WrongParam(
                f"No tool {tool_use_id[:80]!r} waits for a permission in conversation"
                f" {conversation_id}: it was answered already, or the agent has ended."
            )

    def undo(self, conversation_id: int, time_ms: int, folder: Path) -> list[Undone]:
        """Undo what the turn of this time has changed, and say what became of each file.

        Raises WrongParam while the conversation is at work, or if there is no such turn.
        """
        with self._conversations.held(conversation_id, cannot_be_undone(conversation_id)):
            history = self._conversations.archive.read(conversation_id, str(folder))
            turn, end = _found(history, time_ms)
            if turn.agent is None:
                raise WrongParam("This turn was a question: nothing was changed by it.")
            undone = undo_session(
                self._user_data, turn.agent.session, Root.at(folder), turn.agent.first_change, end
            )
            before = [
                Undone(each.file_path, State(each.state), each.reason)
                for each in turn.agent.undone or ()
            ]
            latest = {each.path: each for each in (*before, *undone)}
            if undone:
                self._conversations.note_undone(conversation_id, time_ms, list(latest.values()))
        return undone

    def delete(self, conversation_id: int, folder: Path) -> None:
        """Delete a conversation, and what its agents could have undone. Raises WrongParam."""
        history = self._conversations.archive.read(conversation_id, str(folder))
        self._conversations.delete(conversation_id, str(folder))
        for session in {turn.agent.session for turn in history.history if turn.agent}:
            kept = self._user_data / "agent"
            if not session.isalnum():  # written by somebody else
                continue
            for name in (f"{session}.json", f"{session}.lock"):
                (kept / "sessions" / name).unlink(missing_ok=True)
            shutil.rmtree(kept / "journals" / session, ignore_errors=True)


def _found(history: HistoryFile, time_ms: int) -> tuple[TurnEntry, int]:
    """The turn of a time, and the first change that is no longer its own."""
    turns = history.history
    number = next((each for each, turn in enumerate(turns) if turn.time == time_ms), None)
    if number is None:
        raise WrongParam(
            f"Conversation {history.conversation_id} has no turn of the time {time_ms}."
        )
    turn = turns[number]
    later = [
        each.agent.first_change
        for each in turns[number + 1 :]
        if each.agent and turn.agent and each.agent.session == turn.agent.session
    ]
    return turn, min(later, default=sys.maxsize)
