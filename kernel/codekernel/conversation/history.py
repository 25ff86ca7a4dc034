"""The history file of each conversation, and its copy for PocketRAG's front end.

Edits that the disk refuses wait in memory.
"""

import logging
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from codekernel.domain.turn import PastTurn, Turn, TurnRequest, UndoResult
from codekernel.errors import StorageError
from codekernel.protocol.envelope import dump_json
from codekernel.protocol.history_file import (
    ConversationHistory,
    UnreadableHistoryError,
    build_context_messages,
    read_pocketrag_history,
    salvage_history,
)
from codekernel.storage.conversation_files import (
    ConversationDamaged,
    ConversationFiles,
    MirrorPathRejected,
    read_mirror,
    remove_mirror,
    write_mirror,
)

logger = logging.getLogger(__name__)


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

    @property
    def is_mirrored(self) -> bool:
        """Whether its history is copied into the repository."""
        return self.turn.request.is_mirrored

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
    is_mirrored: bool = False

    def apply(self, history: ConversationHistory | None) -> ConversationHistory | None:
        """Return the history with the note."""
        return history.with_undo_results(self.time_ms, self.files) if history else None


HistoryEdit = UnsavedTurn | UnsavedUndo


class UnsavedEdits:
    """Edits of histories that the disk refused, oldest first; safe to use from any thread."""

    def __init__(self) -> None:
        self._edits: tuple[HistoryEdit, ...] = ()
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[HistoryEdit]:
        return iter(self._edits)

    def add(self, edit: HistoryEdit) -> None:
        """Keep an edit until ``discard``."""
        with self._lock:
            self._edits += (edit,)

    def discard(self, *edits: HistoryEdit) -> None:
        """Forget edits: the disk has them, or their conversation is deleted."""
        with self._lock:
            self._edits = tuple(each for each in self._edits if each not in edits)

    def list_edits(self, conversation_id: int) -> list[HistoryEdit]:
        """Return the edits of one conversation, oldest first."""
        return [each for each in self if each.conversation_id == conversation_id]

    def apply(
        self, history: ConversationHistory | None, conversation_id: int
    ) -> ConversationHistory | None:
        """Return the history with all unsaved edits."""
        for edit in self.list_edits(conversation_id):
            history = edit.apply(history)
        return history


class ConversationHistories:
    """All histories of one userData folder; writing needs the conversation's lock."""

    def __init__(self, files: ConversationFiles, mirror: "HistoryMirror | None" = None) -> None:
        self._files = files
        self._mirror = mirror or HistoryMirror(start_retry=lambda: None)
        self.unsaved = UnsavedEdits()

    def open_for_turn(self, request: TurnRequest) -> list[PastTurn]:
        """Return the turns so far; create the file of a new conversation if the disk accepts it.

        Raises StorageError if there is a file that cannot be read now.
        """
        number = request.conversation_id
        on_disk, damage = self._read_file(number)
        known = self.unsaved.apply(on_disk, number)
        merged = known
        if self._mirror.covers(request.repo_path) or request.is_mirrored:
            merged = self._mirror.merge_mirrored(number, request.repo_path, known)
        history = merged or ConversationHistory.create(number, request.query, request.repo_path)
        if history is not known or damage:
            try:
                self._write_file(number, history, damage, is_mirrored=request.is_mirrored)
            except StorageError as error:
                logger.warning("conversation %d is in memory alone. %s", number, error)
                self._mirror_history(number, history, is_mirrored=request.is_mirrored)
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
            self._write_file(number, after, damage, is_mirrored=edit.is_mirrored)

    def publish_unsaved(self, conversation_id: int) -> None:
        """Mirror a history that is in memory alone."""
        edits = self.unsaved.list_edits(conversation_id)
        is_mirrored = any(edit.is_mirrored for edit in edits)
        with suppress(StorageError):
            if history := self.read(conversation_id):
                self._mirror_history(conversation_id, history, is_mirrored=is_mirrored)

    def mirror_missing(self, conversation_id: int, repo_path: str) -> None:
        """Mirror a history that is about this folder and has no copy yet."""
        with suppress(StorageError):
            history = self.read(conversation_id)
            is_meant = history is not None and history.repo_path == repo_path
            if history and is_meant and not self._mirror.has_copy(conversation_id, repo_path):
                self._mirror.write(conversation_id, history)

    def fork(self, conversation_id: int, new_id: int, turn_count: int) -> None:
        """Write a new conversation with the first turns of another. Raises StorageError."""
        if history := self.read(conversation_id):
            self._write_file(new_id, history.fork(new_id, turn_count), "", is_mirrored=False)

    def find_latest(self, repo_path: str) -> int | None:
        """Return the conversation about this folder that was written last."""
        readable = self._iter_readable()
        return next((number for number, it in readable if it.repo_path == repo_path), None)

    def delete(self, conversation_id: int) -> None:
        """Delete a conversation with its journals and unsaved edits. Raises StorageError."""
        self._files.remove(conversation_id)
        self.unsaved.discard(*self.unsaved.list_edits(conversation_id))

    def delete_copy(self, conversation_id: int, repo_path: str) -> None:
        """Delete the copy of a conversation."""
        if self._mirror.covers(repo_path):
            self._mirror.remove(conversation_id, repo_path)

    def _iter_readable(self) -> Iterator[tuple[int, ConversationHistory]]:
        """Yield the histories that can be read, the one written last first."""
        for number in self._files.list_ids():
            with suppress(StorageError):
                if history := self.read(number):
                    yield number, history

    def _write_file(
        self,
        conversation_id: int,
        history: ConversationHistory,
        damage: str,
        *,
        is_mirrored: bool,
    ) -> None:
        """Write a history; quarantine the file before if it is damaged."""
        if damage:
            self._files.quarantine(self._files.history_path(conversation_id), damage)
        self._files.write_history(conversation_id, history.to_bytes())
        self._mirror_history(conversation_id, history, is_mirrored=is_mirrored)

    def _mirror_history(
        self, conversation_id: int, history: ConversationHistory, *, is_mirrored: bool
    ) -> None:
        if is_mirrored or self._mirror.covers(history.repo_path):
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


_COPY_NAME = "conversation-{}.json"

# The file of the context that an earlier PocketRAG kernel would read.
_CONTEXT_NAME = "conversation-{}_full.json"


class HistoryMirror:
    """A copy of each history in its repository, as PocketRAG's front end reads it.

    Only of what this front end asks, and about what it has open. The history under userData is
    authoritative: what is found only in a repository was written by an earlier PocketRAG. Never
    raises, for no answer depends on a copy; ``start_retry`` is called when the disk refuses one.
    """

    def __init__(self, start_retry: Callable[[], None]) -> None:
        self._start_retry = start_retry
        self._pending: dict[int, ConversationHistory] = {}
        self._logged_refusals: set[str] = set()
        self._roots: Counter[str] = Counter()  # by how many windows of that front end
        self._lock = threading.Lock()

    @contextmanager
    def cover(self, repo_path: str) -> Iterator[None]:
        """Within the block, histories about this folder are copied into it, whoever asks."""
        with self._lock:
            self._roots[repo_path] += 1
        try:
            yield
        finally:
            with self._lock:
                self._roots[repo_path] -= 1

    def covers(self, repo_path: str) -> bool:
        """Return whether histories about this folder are copied into it."""
        with self._lock:
            return self._roots[repo_path] > 0

    def write(self, conversation_id: int, history: ConversationHistory) -> None:
        """Copy a history; one that the disk refuses is kept for ``save_pending``."""
        refusal = self._write(conversation_id, history)
        with self._lock:
            if not refusal:
                self._pending.pop(conversation_id, None)
                return
            self._pending[conversation_id] = history
        logger.warning("a conversation is not mirrored yet. %s", refusal)
        self._start_retry()

    def save_pending(self) -> str:
        """Copy what was refused; return what is refused again, or ""."""
        with self._lock:
            waiting = dict(self._pending)
        refusals = []
        for number, history in waiting.items():
            refusals.append(self._write(number, history))
            with self._lock:
                if not refusals[-1] and self._pending.get(number) is history:
                    del self._pending[number]
        return next(filter(None, refusals), "")

    def merge_mirrored(
        self, conversation_id: int, repo_path: str, known: ConversationHistory | None
    ) -> ConversationHistory | None:
        """Return a history with the turns that are only in the mirror."""
        try:
            content = read_mirror(Path(repo_path), _COPY_NAME.format(conversation_id))
        except StorageError as error:
            logger.warning("a mirrored conversation cannot be read. %s", error)
            return known
        found = read_pocketrag_history(content, conversation_id, repo_path) if content else None
        if found is None:
            return known
        return known.merge(found) if known else found

    def has_copy(self, conversation_id: int, repo_path: str) -> bool:
        """Return whether there is a readable copy."""
        try:
            return read_mirror(Path(repo_path), _COPY_NAME.format(conversation_id)) is not None
        except StorageError:
            return False

    def remove(self, conversation_id: int, repo_path: str) -> None:
        """Delete a copy."""
        with self._lock:
            self._pending.pop(conversation_id, None)
        try:
            for name in (_COPY_NAME.format(conversation_id), _CONTEXT_NAME.format(conversation_id)):
                remove_mirror(Path(repo_path), name)
        except StorageError as error:
            logger.warning("a mirrored conversation stays. %s", error)

    def _write(self, conversation_id: int, history: ConversationHistory) -> str:
        root = Path(history.repo_path)
        if not history.repo_path or not os.path.isdir(root):  # noqa: PTH112 - any text may stand there
            return ""
        context = dump_json(build_context_messages(history), indented=True)
        try:
            write_mirror(root, _COPY_NAME.format(conversation_id), history.to_bytes())
            write_mirror(root, _CONTEXT_NAME.format(conversation_id), context)
        except MirrorPathRejected as error:  # trying again would change nothing
            if str(error) not in self._logged_refusals:
                self._logged_refusals.add(str(error))
                logger.warning("%s", error)
        except StorageError as error:
            return str(error)
        except OSError as error:
            return f"{root} cannot be read or written: {error.strerror}"
        return ""
