"""The history file of each conversation, and the journal of each running turn.

Edits that the disk refuses wait in memory.
"""

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from codekernel.conversation.history_mirror import HistoryMirror
from codekernel.conversation.turn_builder import TurnBuilder, build_from_events
from codekernel.domain.turn import PastTurn, Turn, TurnRequest, UndoResult
from codekernel.domain.turn_events import TurnBegun, TurnEvent
from codekernel.errors import StorageError
from codekernel.protocol.history_file import (
    ConversationHistory,
    UnreadableHistoryError,
    decode_journal_lines,
    encode_journal_line,
)
from codekernel.protocol.history_import import salvage_history
from codekernel.protocol.messages.agent import build_undone_entries
from codekernel.storage.conversation_files import (
    ConversationDamaged,
    ConversationFiles,
    TurnJournalFile,
)
from codekernel.storage.safe_files import NotRegularFile, read_regular


@dataclass(frozen=True, eq=False)
class UnsavedTurn:
    """A turn to be added to its history; ``journal`` is the file with its events."""

    turn: Turn
    summaries: Mapping[int, str] = field(default_factory=dict)
    journal: Path | None = None

    @property
    def conversation_id(self) -> int:
        """The conversation that it belongs to."""
        return self.turn.request.conversation_id

    def apply(self, history: ConversationHistory | None) -> ConversationHistory:
        """Return the history with the turn, or as it is if it has the turn already."""
        request = self.turn.request
        after = history or ConversationHistory.create(
            request.conversation_id, request.query, request.repo_path
        )
        if after.has_turn(self.turn):
            return after
        for number, summary in self.summaries.items():
            if number < len(after.list_turns()):  # the file may have been edited meanwhile
                after = after.with_summary(number, summary)
        return after.with_turn(self.turn)


@dataclass(frozen=True, eq=False)
class UnsavedUndo:
    """The results of an undo, to be added to the history."""

    conversation_id: int
    time_ms: int
    files: Sequence[UndoResult]
    journal: None = None

    def apply(self, history: ConversationHistory | None) -> ConversationHistory | None:
        """Return the history with the note."""
        return (
            history.with_undo_results(self.time_ms, build_undone_entries(self.files))
            if history
            else None
        )


HistoryEdit = UnsavedTurn | UnsavedUndo


class UnsavedEdits:
    """Edits of histories that the disk refused, oldest first; safe to use from any thread."""

    def __init__(self) -> None:
        self._edits: list[HistoryEdit] = []
        self._lock = threading.Lock()

    def add(self, edit: HistoryEdit) -> None:
        """Keep an edit until ``remove``."""
        with self._lock:
            self._edits.append(edit)

    def remove(self, edit: HistoryEdit) -> None:
        """Forget an edit: the disk has it."""
        with self._lock:
            self._edits = [each for each in self._edits if each is not edit]

    def discard_conversation(self, conversation_id: int) -> None:
        """Forget a conversation that is deleted."""
        with self._lock:
            self._edits = [each for each in self._edits if each.conversation_id != conversation_id]

    def list_edits(self, conversation_id: int) -> list[HistoryEdit]:
        """Return the edits of one conversation, oldest first."""
        with self._lock:
            return [each for each in self._edits if each.conversation_id == conversation_id]

    def list_conversation_ids(self) -> list[int]:
        """Return the conversations that have edits."""
        with self._lock:
            return list(dict.fromkeys(each.conversation_id for each in self._edits))

    def list_journals(self) -> set[Path]:
        """Return the journals of the turns that are complete here and perhaps not on the disk."""
        with self._lock:
            return {each.journal for each in self._edits if each.journal}

    def apply(
        self, history: ConversationHistory | None, conversation_id: int
    ) -> ConversationHistory | None:
        """Return the history with all unsaved edits."""
        for edit in self.list_edits(conversation_id):
            history = edit.apply(history)
        return history


logger = logging.getLogger(__name__)


class ConversationHistories:
    """All histories of one userData folder; writing needs the conversation's lock."""

    def __init__(
        self,
        files: ConversationFiles,
        unsaved: UnsavedEdits | None = None,
        mirror: HistoryMirror | None = None,
    ) -> None:
        self._files = files
        self.unsaved = unsaved or UnsavedEdits()
        self._mirror = mirror

    def open_for_turn(self, request: TurnRequest) -> list[PastTurn]:
        """Return the turns so far; create the file of a new conversation if the disk accepts it.

        Raises StorageError if there is a file that cannot be read now.
        """
        number = request.conversation_id
        on_disk, damage = self._read_file(number)
        known = self.unsaved.apply(on_disk, number)
        merged = known
        if self._mirror:
            merged = self._mirror.merge_mirrored(number, request.repo_path, known)
        history = merged or ConversationHistory.create(number, request.query, request.repo_path)
        if history is not known or damage:
            try:
                self._write_file(number, history, damage)
            except StorageError as error:
                logger.warning("conversation %d is in memory alone. %s", number, error)
                self._mirror_history(number, history)
        return history.list_turns()

    def read(self, conversation_id: int) -> ConversationHistory | None:
        """Return the history on disk with the unsaved edits; of a damaged file, what can be read.

        Raises StorageError.
        """
        return self.unsaved.apply(self._read_file(conversation_id)[0], conversation_id)

    def describe_damage(self, conversation_id: int) -> str:
        """Return why the file of a conversation cannot be read completely; empty if it can."""
        try:
            return self._read_file(conversation_id)[1]
        except StorageError as error:
            return str(error)

    def write_edit(self, edit: HistoryEdit) -> None:
        """Write an edit into its file, unless it is there already. Raises StorageError."""
        number = edit.conversation_id
        history, damage = self._read_file(number)
        after = edit.apply(history)
        if after is not None and (after is not history or damage):
            self._write_file(number, after, damage)

    def publish_unsaved(self, conversation_id: int) -> None:
        """Mirror a history that is in memory alone."""
        try:
            history = self.read(conversation_id)
        except StorageError:
            return
        if history:
            self._mirror_history(conversation_id, history)

    def mirror_missing(self) -> None:
        """Mirror the histories that have no copy yet."""
        if not self._mirror:
            return
        try:
            numbers = self._files.list_ids()
        except StorageError:
            return
        for number in numbers:
            try:
                history = self.read(number)
            except StorageError:
                continue
            root = history.repo_path if history else ""
            if history and root and not self._mirror.has_copy(number, root):
                self._mirror.write(number, history)

    def find_latest(self, repo_path: str) -> int | None:
        """Return the conversation about this folder that was written last."""
        for number in self._files.list_ids():
            try:
                history = self.read(number)
            except StorageError:
                continue
            if history and history.repo_path == repo_path:
                return number
        return None

    def _write_file(self, conversation_id: int, history: ConversationHistory, damage: str) -> None:
        """Write a history; quarantine the file before if it is damaged."""
        if damage:
            self._files.quarantine(self._files.history_path(conversation_id), damage)
        self._files.write_history(conversation_id, history.to_bytes())
        self._mirror_history(conversation_id, history)

    def _mirror_history(self, conversation_id: int, history: ConversationHistory) -> None:
        if self._mirror:
            self._mirror.write(conversation_id, history)

    def _read_file(self, conversation_id: int) -> tuple[ConversationHistory | None, str]:
        """Return what can be read of a file, and why it cannot be read completely."""
        try:
            content = self._files.read_history(conversation_id)
        except ConversationDamaged as error:
            return None, str(error)
        if content is None:
            return None, ""
        try:
            return ConversationHistory.from_bytes(content, conversation_id), ""
        except UnreadableHistoryError as error:
            return salvage_history(content, conversation_id), str(error) or "unreadable"


class TurnJournal:
    """The journal of one turn: each event is written at once and added to ``builder``."""

    def __init__(self, request: TurnRequest, path: Path) -> None:
        self.builder = TurnBuilder(request)
        self.path = path
        self._file = TurnJournalFile(path)
        self._file.append(encode_journal_line(TurnBegun(request)))

    def append(self, event: TurnEvent) -> None:
        """Write an event; called before it is shown."""
        self._file.append(encode_journal_line(event))
        self.builder.add(event)

    def close(self) -> None:
        """Close the file; it is deleted once the turn is saved."""
        self._file.close()


def read_journal(path: Path) -> tuple[TurnBuilder | None, str]:
    """Build the turn of a journal that a crash left, and say what is wrong with the file.

    Returns no turn and no damage for an empty journal. Raises OSError if it cannot be read now.
    """
    try:
        content = read_regular(path)
    except NotRegularFile as error:
        return None, str(error)
    events, is_whole = decode_journal_lines(content)
    builder = build_from_events(events)
    is_sound = is_whole and (builder or not content.strip())
    return builder, "" if is_sound else "lines of it are damaged"
