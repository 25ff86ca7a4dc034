"""The history file of each conversation, and the journal of each turn until it is in there."""

import logging
from collections.abc import Sequence
from pathlib import Path

from kernel.conversation.fold import TurnFold, folded
from kernel.domain.turn import Asking, PastTurn, Turn
from kernel.domain.turn_events import Begun, TurnEvent
from kernel.domain.undone import Undone
from kernel.protocol.history_file import History, UnreadableHistory
from kernel.protocol.journal_line import journal_events, journal_line
from kernel.protocol.messages.agent import undone_entries
from kernel.storage.conversations import ConversationFiles, JournalFile

logger = logging.getLogger(__name__)


class Histories:
    """All conversations of one userData folder; whoever writes holds the conversation's lock."""

    def __init__(self, files: ConversationFiles) -> None:
        self._files = files

    def begin(self, asking: Asking) -> list[PastTurn]:
        """The turns so far; a new conversation gets its file now. Raises StorageError."""
        history = self._load(asking.conversation_id)
        if history is None:
            history = History.new(asking.conversation_id, asking.query, asking.repo_path)
            self._files.write(asking.conversation_id, history.content())
        return history.turns()

    def append(self, turn: Turn, summaries: dict[int, str] | None = None) -> None:
        """Put a turn at the end, unless it is there already. Raises StorageError."""
        asking = turn.asking
        history = self._load(asking.conversation_id) or History.new(
            asking.conversation_id, asking.query, asking.repo_path
        )
        if history.has(turn):
            return
        for number, summary in (summaries or {}).items():
            if number < len(history.turns()):  # the file may have been edited meanwhile
                history = history.summarized(number, summary)
        self._files.write(asking.conversation_id, history.append(turn).content())

    def note_undone(self, conversation_id: int, time_ms: int, files: Sequence[Undone]) -> None:
        """Note what became of the files that an agent's turn had changed. Raises StorageError."""
        history = self._load(conversation_id)
        if history:
            noted = history.undone(time_ms, undone_entries(files))
            self._files.write(conversation_id, noted.content())

    def latest_of(self, repo_path: str) -> int | None:
        """The conversation about this folder that was written last."""
        for number in self._files.ids():
            content = self._files.read(number)
            try:
                history = History.read(content or b"", number)
            except UnreadableHistory:
                continue
            if history.repo_path == repo_path:
                return number
        return None

    def _load(self, conversation_id: int) -> History | None:
        content = self._files.read(conversation_id)
        if content is None:
            return None
        try:
            return History.read(content, conversation_id)
        except UnreadableHistory as error:
            self._files.set_aside(conversation_id, str(error))
            return None


class Notebook:
    """What happens in one turn: written down at once, and folded."""

    def __init__(self, asking: Asking, path: Path) -> None:
        self.fold = TurnFold(asking)
        self._file = JournalFile(path)
        self._file.append(journal_line(Begun(asking)))

    def note(self, event: TurnEvent) -> None:
        """Write it down; called before it is shown."""
        self._file.append(journal_line(event))
        self.fold.add(event)

    def close(self, *, settled: bool) -> None:
        """Throw the journal away if everything in it is ``settled``, else leave it for later."""
        if settled:
            self._file.discard()
        else:
            self._file.close()


def read_journal(path: Path) -> TurnFold | None:
    """The fold of a journal that was left behind; None if there is nothing in it."""
    try:
        content = path.read_bytes()
    except OSError as error:
        logger.warning("a journal cannot be read: %s", error)
        return None
    return folded(journal_events(content))
