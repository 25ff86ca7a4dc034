"""Save a finished turn exactly once.

History first, then the usage ledger, then the journal is removed; a crash in between is
repaired at the next start. What the disk refuses stays in memory and is retried.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from codekernel.conversation.history import (
    ConversationHistories,
    HistoryEdit,
    UnsavedEdits,
    UnsavedTurn,
    UnsavedUndo,
    read_journal,
)
from codekernel.conversation.history_mirror import HistoryMirror
from codekernel.conversation.save_retry import SaveRetryThread
from codekernel.conversation.turn_builder import TurnBuilder
from codekernel.domain.turn import DayUsage, TokenUsage, TurnRequest
from codekernel.domain.turn_events import TokensCounted, TurnEvent
from codekernel.errors import KernelError, StorageError
from codekernel.storage.conversation_files import ConversationFiles, delete_turn_journal
from codekernel.storage.vault.tables import UsageLedger

logger = logging.getLogger(__name__)

CountTokens = Callable[[str], int]


class TurnStore:
    """The turns of one userData folder; ``save_lock`` is held by the thread that writes them."""

    def __init__(
        self,
        files: ConversationFiles,
        ledger: UsageLedger,
        count_tokens: CountTokens,
        save_retry: SaveRetryThread,
        mirror: HistoryMirror | None = None,
    ) -> None:
        self._files = files
        self._ledger = ledger
        self._count_tokens = count_tokens
        self.unsaved = UnsavedEdits()
        self.histories = ConversationHistories(files, self.unsaved, mirror)
        self._save_retry = save_retry
        save_retry.add_saver(self.save_all_pending)
        self.save_lock = threading.RLock()

    def estimate_missing_usage(self, builder: TurnBuilder) -> Iterator[TurnEvent]:
        """Return the estimated tokens of a request that was cut off before they were reported."""
        uncounted = builder.uncounted_request
        if uncounted:
            read = self._count_tokens(uncounted.sent) + uncounted.known_tokens
            written = self._count_tokens(uncounted.received) if uncounted.received else 0
            yield TokensCounted(TokenUsage(read, written, exact=False))

    def save_or_defer(self, edit: HistoryEdit) -> str:
        """Save an edit on disk, else keep it in memory; return what the disk refused, or ""."""
        self.unsaved.add(edit)
        refusal = self.save_pending(edit.conversation_id)
        if refusal:
            logger.warning("conversation %d waits in memory: %s", edit.conversation_id, refusal)
            self.histories.publish_unsaved(edit.conversation_id)
            self._save_retry.start()
        return refusal

    def save_pending(self, conversation_id: int) -> str:
        """Write what is unsaved of a conversation, in order; return what the disk refused, or "".

        The conversation must be locked.
        """
        with self.save_lock:
            for edit in self.unsaved.list_edits(conversation_id):
                try:
                    self._commit(edit)
                except StorageError as error:
                    return str(error)
                if edit.journal:
                    delete_turn_journal(edit.journal)
                self.unsaved.remove(edit)
        return ""

    def save_all_pending(self) -> str:
        """Write what is unsaved of every conversation; return the first refusal, or ""."""
        refusals = []
        for number in self.unsaved.list_conversation_ids():
            with self.save_lock:
                lock = self._files.create_lock(number)
                try:
                    is_free = lock.try_acquire()
                except StorageError:  # no lock can be had on this disk
                    is_free = True
                if not is_free:
                    refusals.append(f"conversation {number} is being answered")
                    continue
                try:
                    refusals.append(self.save_pending(number))
                finally:
                    lock.release()
        return next(filter(None, refusals), "")

    def recover_journals(self, conversation_id: int | None = None) -> None:
        """Save turns that crashes cut off: of one conversation, whose lock is held, or of all."""
        if conversation_id is not None:
            self.save_pending(conversation_id)
        try:
            journals = self._files.list_journals()
        except StorageError as error:
            logger.warning("unfinished turns are kept for a later start: %s", error)
            return
        for path, number in journals.items():
            if conversation_id is not None and number != conversation_id:
                continue
            if path in self.unsaved.list_journals():
                continue  # memory knows more of this turn
            lock = self._files.create_lock(number)
            if conversation_id is None and not lock.try_acquire_or_log():
                continue  # it is under way, here or in another process
            try:
                self._recover_journal(path)
            except (KernelError, OSError) as error:
                logger.warning("%s stays for a later start: %s", path.name, error)
            finally:
                lock.release()

    def _recover_journal(self, path: Path) -> None:
        builder, damage = read_journal(path)
        if builder:
            for event in self.estimate_missing_usage(builder):
                builder.add(event)
            with self.save_lock:
                self._commit(UnsavedTurn(builder.build()))
        if damage:
            self._files.quarantine(path, damage)
        else:
            path.unlink(missing_ok=True)

    def _commit(self, edit: HistoryEdit) -> None:
        """Write it into the history and the ledger; doing so again changes nothing."""
        self.histories.write_edit(edit)
        if isinstance(edit, UnsavedUndo):
            return
        request, spent = edit.turn.request, edit.turn.token_usage
        if request.repo_id is not None and (spent.input_tokens or spent.output_tokens):
            usage = DayUsage(
                request.model_name, _local_day(request), spent.input_tokens, spent.output_tokens
            )
            try:
                self._ledger.record_once(_make_receipt(request), request.repo_id, usage)
            except StorageError as error:
                raise StorageError(f"The answer is saved, but not what it cost. {error}") from error

    def prune_receipts(self) -> None:
        """Drop the receipts of turns that no journal can bring up again."""
        kept = {path.stem for path in self._files.list_journals()}
        self._ledger.delete_receipts(kept | {path.stem for path in self.unsaved.list_journals()})


def _make_receipt(request: TurnRequest) -> str:
    """Return the name of the turn's journal."""
    return f"{request.conversation_id}-{request.time_ms}"


def _local_day(request: TurnRequest) -> str:
    """Return the day in the user's time zone."""
    moment = datetime.fromtimestamp(request.time_ms / 1000, tz=UTC)
    return moment.astimezone().date().isoformat()
