"""What is kept of a turn: its place in the history, its tokens in the ledger, each exactly once.

The order is history, ledger, then the end of the journal. A crash anywhere in between is mended at
the next start by doing all of it again: the history knows its turns, the ledger its receipts.

What a disk does not take stays in memory (``unsaved.py``) and is tried again: with the next turn of
its conversation, by ``save_retry.py``, and at the end of the process.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from kernel.conversation.fold import TurnFold
from kernel.conversation.history import Histories, read_journal
from kernel.conversation.unsaved import HistoryEdit, UnsavedEdits, UnsavedTurn, UnsavedUndo
from kernel.domain.turn import Asking, Spent
from kernel.domain.turn_events import Counted, TurnEvent
from kernel.domain.usage import DayUsage
from kernel.errors import KernelError, StorageError
from kernel.storage.conversations import ConversationFiles, discard_journal
from kernel.storage.usage import UsageLedger

logger = logging.getLogger(__name__)

CountTokens = Callable[[str], int]


class Bookkeeping:
    """The books of one userData folder; ``saving`` is held by whichever thread writes them."""

    def __init__(
        self, files: ConversationFiles, ledger: UsageLedger, count_tokens: CountTokens
    ) -> None:
        self._files = files
        self._ledger = ledger
        self._count_tokens = count_tokens
        self.unsaved = UnsavedEdits()
        self.histories = Histories(files, self.unsaved)
        self.saving = threading.RLock()

    def missing_count(self, fold: TurnFold) -> Iterator[TurnEvent]:
        """The cost of a request that was cut off before anybody told it, counted by us."""
        uncounted = fold.uncounted
        if uncounted:
            read = self._count_tokens(uncounted.sent) + uncounted.known
            written = self._count_tokens(uncounted.received) if uncounted.received else 0
            yield Counted(Spent(read, written, exact=False))

    def keep(self, edit: HistoryEdit) -> str:
        """Keep what was shown, on disk or else in memory; return what the disk refused, or ""."""
        self.unsaved.add(edit)
        refusal = self.save(edit.conversation_id)
        if refusal:
            logger.warning("conversation %d waits in memory: %s", edit.conversation_id, refusal)
            self.histories.tell_unsaved(edit.conversation_id)
            self.unsaved.on_added()
        return refusal

    def save(self, conversation_id: int) -> str:
        """Write what is unsaved of a conversation, in order; return what the disk refused, or "".

        The conversation must be held.
        """
        with self.saving:
            for edit in self.unsaved.of(conversation_id):
                try:
                    self._settle(edit)
                except StorageError as error:
                    return str(error)
                if edit.journal:
                    discard_journal(edit.journal)
                self.unsaved.remove(edit)
        return ""

    def save_everything(self) -> str:
        """Write what is unsaved of every conversation; return the first refusal, or ""."""
        refusals = []
        for number in self.unsaved.conversation_ids():
            with self.saving:
                lock = self._files.lock(number)
                try:
                    is_free = lock.take()
                except StorageError:  # no lock can be had on this disk
                    is_free = True
                if not is_free:
                    refusals.append(f"conversation {number} is being answered")
                    continue
                try:
                    refusals.append(self.save(number))
                finally:
                    lock.release()
        return next(filter(None, refusals), "")

    def recover(self, conversation_id: int | None = None) -> None:
        """Settle what crashes have left; of one conversation if its lock is held, else of all."""
        if conversation_id is not None:
            self.save(conversation_id)
        try:
            journals = self._files.journals()
        except StorageError as error:
            logger.warning("unfinished turns are kept for a later start: %s", error)
            return
        for path, number in journals.items():
            if conversation_id is not None and number != conversation_id:
                continue
            if path in self.unsaved.journals():
                continue  # memory knows more of this turn
            lock = self._files.lock(number)
            if conversation_id is None and not lock.acquire():
                continue  # it is under way, here or in another process
            try:
                self._recover(path)
            except (KernelError, OSError) as error:
                logger.warning("%s stays for a later start: %s", path.name, error)
            finally:
                lock.release()

    def _recover(self, path: Path) -> None:
        fold, damage = read_journal(path)
        if fold:
            for event in self.missing_count(fold):
                fold.add(event)
            with self.saving:
                self._settle(UnsavedTurn(fold.turn()))
        if damage:
            self._files.quarantine(path, damage)
        else:
            path.unlink(missing_ok=True)

    def _settle(self, edit: HistoryEdit) -> None:
        """Put it into the history and the ledger; doing it again changes nothing."""
        self.histories.write(edit)
        if isinstance(edit, UnsavedUndo):
            return
        asking, spent = edit.turn.asking, edit.turn.spent
        if asking.repo_id is not None and (spent.input_tokens or spent.output_tokens):
            usage = DayUsage(
                asking.model_name, _day(asking), spent.input_tokens, spent.output_tokens
            )
            try:
                self._ledger.record_once(_receipt(asking), asking.repo_id, usage)
            except StorageError as error:
                raise StorageError(f"The answer is saved, but not what it cost. {error}") from error

    def forget_receipts(self) -> None:
        """Drop the receipts of turns that no journal can bring up again."""
        kept = {path.stem for path in self._files.journals()}
        self._ledger.forget_receipts(kept | {path.stem for path in self.unsaved.journals()})


def _receipt(asking: Asking) -> str:
    """The name of the turn's journal."""
    return f"{asking.conversation_id}-{asking.time_ms}"


def _day(asking: Asking) -> str:
    """The day as the person's calendar has it."""
    moment = datetime.fromtimestamp(asking.time_ms / 1000, tz=UTC)
    return moment.astimezone().date().isoformat()
