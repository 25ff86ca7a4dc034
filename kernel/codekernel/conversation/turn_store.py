"""Save a finished turn exactly once.

History first, then the usage ledger, then the journal is removed; a crash in between is
repaired at the next start. What the disk refuses stays in memory and is retried with backoff by
a thread.
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
from codekernel.conversation.turn_builder import TurnBuilder
from codekernel.domain.turn import DayUsage, TokenUsage, TurnRequest
from codekernel.domain.turn_events import TokensCounted, TurnEvent
from codekernel.errors import KernelError, StorageError
from codekernel.storage.conversation_files import ConversationFiles, delete_turn_journal
from codekernel.storage.vault.tables import UsageLedger

logger = logging.getLogger(__name__)

# Room may come back at any moment, or not for hours. A try costs the writing of a small file.
MIN_BACKOFF_SECONDS = 1.0

MAX_BACKOFF_SECONDS = 30.0


class SaveRetryThread:
    """Runs from ``begin`` until ``save`` has no more refusal, or until ``end``."""

    def __init__(self, save: Callable[[], str]) -> None:
        self._save = save
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    def start(self) -> None:
        """There is something to save; returns at once."""
        with self._lock:
            if self._thread is None and not self._stopping.is_set():
                self._thread = threading.Thread(target=self._run, name="save", daemon=True)
                self._thread.start()

    def finish(self) -> str:
        """Try a last time, at once; returns what was refused, or ""."""
        self._stopping.set()
        return self._try_save()

    def _run(self) -> None:
        wait_seconds = MIN_BACKOFF_SECONDS
        while not self._stopping.wait(wait_seconds):
            with self._lock:  # what comes after a success begins another thread
                if not self._try_save():
                    logger.info("everything that was shown is on the disk again")
                    self._thread = None
                    return
            wait_seconds = min(2 * wait_seconds, MAX_BACKOFF_SECONDS)

    def _try_save(self) -> str:
        try:
            return self._save()
        except (KernelError, OSError) as error:
            return str(error) or type(error).__name__


CountTokens = Callable[[str], int]


class TurnStore:
    """The books of one userData folder; ``saving`` is held by whichever thread writes them."""

    def __init__(
        self, files: ConversationFiles, ledger: UsageLedger, count_tokens: CountTokens
    ) -> None:
        self._files = files
        self._ledger = ledger
        self._count_tokens = count_tokens
        self.unsaved = UnsavedEdits()
        self.histories = ConversationHistories(files, self.unsaved)
        self.save_lock = threading.RLock()

    def estimate_missing_usage(self, builder: TurnBuilder) -> Iterator[TurnEvent]:
        """The cost of a request that was cut off before anybody told it, counted by us."""
        uncounted = builder.uncounted_request
        if uncounted:
            read = self._count_tokens(uncounted.sent) + uncounted.known_tokens
            written = self._count_tokens(uncounted.received) if uncounted.received else 0
            yield TokensCounted(TokenUsage(read, written, exact=False))

    def save_or_defer(self, edit: HistoryEdit) -> str:
        """Keep what was shown, on disk or else in memory; return what the disk refused, or ""."""
        self.unsaved.add(edit)
        refusal = self.save_pending(edit.conversation_id)
        if refusal:
            logger.warning("conversation %d waits in memory: %s", edit.conversation_id, refusal)
            self.histories.publish_unsaved(edit.conversation_id)
            self.unsaved.on_added()
        return refusal

    def save_pending(self, conversation_id: int) -> str:
        """Write what is unsaved of a conversation, in order; return what the disk refused, or "".

        The conversation must be held.
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
        """Settle what crashes have left; of one conversation if its lock is held, else of all."""
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
        fold, damage = read_journal(path)
        if fold:
            for event in self.estimate_missing_usage(fold):
                fold.add(event)
            with self.save_lock:
                self._commit(UnsavedTurn(fold.build()))
        if damage:
            self._files.quarantine(path, damage)
        else:
            path.unlink(missing_ok=True)

    def _commit(self, edit: HistoryEdit) -> None:
        """Put it into the history and the ledger; doing it again changes nothing."""
        self.histories.write_edit(edit)
        if isinstance(edit, UnsavedUndo):
            return
        asking, spent = edit.turn.request, edit.turn.token_usage
        if asking.repo_id is not None and (spent.input_tokens or spent.output_tokens):
            usage = DayUsage(
                asking.model_name, _local_day(asking), spent.input_tokens, spent.output_tokens
            )
            try:
                self._ledger.record_once(_make_receipt(asking), asking.repo_id, usage)
            except StorageError as error:
                raise StorageError(f"The answer is saved, but not what it cost. {error}") from error

    def prune_receipts(self) -> None:
        """Drop the receipts of turns that no journal can bring up again."""
        kept = {path.stem for path in self._files.list_journals()}
        self._ledger.delete_receipts(kept | {path.stem for path in self.unsaved.list_journals()})


def _make_receipt(request: TurnRequest) -> str:
    """The name of the turn's journal."""
    return f"{request.conversation_id}-{request.time_ms}"


def _local_day(request: TurnRequest) -> str:
    """The day as the person's calendar has it."""
    moment = datetime.fromtimestamp(request.time_ms / 1000, tz=UTC)
    return moment.astimezone().date().isoformat()
