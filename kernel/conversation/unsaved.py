"""What was shown and no disk has taken yet: kept in memory, and part of every reading meanwhile."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernel.domain.turn import Turn
from kernel.domain.undone import Undone
from kernel.protocol.history_file import History
from kernel.protocol.messages.agent import undone_entries


@dataclass(frozen=True, eq=False)
class UnsavedTurn:
    """A turn that belongs at the end of its history; ``journal`` is what the disk took of it."""

    turn: Turn
    summaries: Mapping[int, str] = field(default_factory=dict)
    journal: Path | None = None

    @property
    def conversation_id(self) -> int:
        """The conversation that it belongs to."""
        return self.turn.asking.conversation_id

    def apply(self, history: History | None) -> History:
        """Return the history with the turn, or as it is if it has the turn already."""
        asking = self.turn.asking
        after = history or History.new(asking.conversation_id, asking.query, asking.repo_path)
        if after.has(self.turn):
            return after
        for number, summary in self.summaries.items():
            if number < len(after.turns()):  # the file may have been edited meanwhile
                after = after.summarized(number, summary)
        return after.append(self.turn)


@dataclass(frozen=True, eq=False)
class UnsavedUndo:
    """A note of what became of the files that an agent's turn had changed."""

    conversation_id: int
    time_ms: int
    files: Sequence[Undone]
    journal: None = None

    def apply(self, history: History | None) -> History | None:
        """Return the history with the note."""
        return history.undone(self.time_ms, undone_entries(self.files)) if history else None


HistoryEdit = UnsavedTurn | UnsavedUndo


class UnsavedEdits:
    """Edits of histories that wait for room on the disk, oldest first; any thread may ask."""

    def __init__(self) -> None:
        self.on_added: Callable[[], None] = lambda: None
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

    def forget(self, conversation_id: int) -> None:
        """Forget a conversation that is deleted."""
        with self._lock:
            self._edits = [each for each in self._edits if each.conversation_id != conversation_id]

    def of(self, conversation_id: int) -> list[HistoryEdit]:
        """Return the edits of one conversation, oldest first."""
        with self._lock:
            return [each for each in self._edits if each.conversation_id == conversation_id]

    def conversation_ids(self) -> list[int]:
        """Return the conversations that have edits."""
        with self._lock:
            return list(dict.fromkeys(each.conversation_id for each in self._edits))

    def journals(self) -> set[Path]:
        """Return the journals whose turns are known whole here, and perhaps not on the disk."""
        with self._lock:
            return {each.journal for each in self._edits if each.journal}

    def apply(self, history: History | None, conversation_id: int) -> History | None:
        """Return the history as it will be once everything is saved."""
        for edit in self.of(conversation_id):
            history = edit.apply(history)
        return history
