"""The history file of each conversation, and the journal of each turn until it is in there."""

import logging
from collections.abc import Callable
from pathlib import Path

from kernel.conversation.fold import TurnFold, folded
from kernel.conversation.unsaved import HistoryEdit, UnsavedEdits
from kernel.domain.turn import Asking, PastTurn
from kernel.domain.turn_events import Begun, TurnEvent
from kernel.errors import StorageError
from kernel.protocol.history_file import History, UnreadableHistory
from kernel.protocol.history_salvage import salvage_history
from kernel.protocol.journal_line import journal_line, read_journal_lines
from kernel.storage.conversations import ConversationDamaged, ConversationFiles, JournalFile
from kernel.storage.regular_file import NotRegularFile, read_regular

logger = logging.getLogger(__name__)

Find = Callable[[int, str, History | None], History | None]


class Histories:
    """All conversations of one userData folder; whoever writes holds the conversation's lock.

    ``on_written`` is called with each history that was written.
    """

    def __init__(self, files: ConversationFiles, unsaved: UnsavedEdits | None = None) -> None:
        self._files = files
        self._unsaved = unsaved or UnsavedEdits()
        self.on_written: Callable[[int, History], None] = lambda *_: None
        # What is known of a conversation from elsewhere, added to what is known here.
        self.find: Find = lambda _number, _repo_path, known: known

    def begin(self, asking: Asking) -> list[PastTurn]:
        """The turns so far; a new conversation gets its file now, if the disk takes it.

        Raises StorageError if there is a file that cannot be read now.
        """
        number = asking.conversation_id
        on_disk, damage = self._found(number)
        known = self._unsaved.apply(on_disk, number)
        history = self.find(number, asking.repo_path, known) or History.new(
            number, asking.query, asking.repo_path
        )
        if history is not known or damage:
            try:
                self._put(number, history, damage)
            except StorageError as error:
                logger.warning("conversation %d begins in memory. %s", number, error)
                self.on_written(number, history)
        return history.turns()

    def read(self, conversation_id: int) -> History | None:
        """What is known of a conversation, on disk and in memory; changes nothing.

        Of a damaged file it is what can be read of it. Raises StorageError.
        """
        return self._unsaved.apply(self._found(conversation_id)[0], conversation_id)

    def damage_of(self, conversation_id: int) -> str:
        """Why the file of a conversation cannot be read whole; empty if it can."""
        try:
            return self._found(conversation_id)[1]
        except StorageError as error:
            return str(error)

    def write(self, edit: HistoryEdit) -> None:
        """Put an edit into its file, unless it is there already. Raises StorageError."""
        number = edit.conversation_id
        history, damage = self._found(number)
        after = edit.apply(history)
        if after is not None and (after is not history or damage):
            self._put(number, after, damage)

    def tell_unsaved(self, conversation_id: int) -> None:
        """Have ``on_written`` called with a history that is in memory alone."""
        try:
            history = self.read(conversation_id)
        except StorageError:
            return
        if history:
            self.on_written(conversation_id, history)

    def mirror_missing(self, has: Callable[[int, str], bool]) -> None:
        """Have ``on_written`` called with each history that a mirror does not have yet."""
        try:
            numbers = self._files.ids()
        except StorageError:
            return
        for number in numbers:
            try:
                history = self.read(number)
            except StorageError:
                continue
            if history and history.repo_path and not has(number, history.repo_path):
                self.on_written(number, history)

    def latest_of(self, repo_path: str) -> int | None:
        """The conversation about this folder that was written last."""
        for number in self._files.ids():
            try:
                history = self.read(number)
            except StorageError:
                continue
            if history and history.repo_path == repo_path:
                return number
        return None

    def _put(self, conversation_id: int, history: History, damage: str) -> None:
        """Write it; what is there and ``damage`` says cannot be read is set aside before."""
        if damage:
            self._files.quarantine(self._files.history_file(conversation_id), damage)
        self._files.write(conversation_id, history.content())
        self.on_written(conversation_id, history)

    def _found(self, conversation_id: int) -> tuple[History | None, str]:
        """What can be read of a file, and why it cannot be read whole."""
        try:
            content = self._files.read(conversation_id)
        except ConversationDamaged as error:
            return None, str(error)
        if content is None:
            return None, ""
        try:
            return History.read(content, conversation_id), ""
        except UnreadableHistory as error:
            return salvage_history(content, conversation_id), str(error) or "unreadable"


class Notebook:
    """What happens in one turn: written down at once, and folded."""

    def __init__(self, asking: Asking, path: Path) -> None:
        self.fold = TurnFold(asking)
        self.path = path
        self._file = JournalFile(path)
        self._file.append(journal_line(Begun(asking)))

    def note(self, event: TurnEvent) -> None:
        """Write it down; called before it is shown."""
        self._file.append(journal_line(event))
        self.fold.add(event)

    def close(self) -> None:
        """Let go of the journal; whoever has settled the turn deletes it."""
        self._file.close()


def read_journal(path: Path) -> tuple[TurnFold | None, str]:
    """The fold of a journal that was left behind, and what is wrong with the file.

    No fold and nothing wrong: the journal is empty. Raises OSError if it cannot be read now.
    """
    try:
        content = read_regular(path)
    except NotRegularFile as error:
        return None, str(error)
    events, is_whole = read_journal_lines(content)
    fold = folded(events)
    return fold, "" if is_whole and (fold or not content.strip()) else "lines of it are damaged"
