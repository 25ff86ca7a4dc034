"""What is kept of a turn: its place in the history, its tokens in the ledger, each exactly once.

The order is history, ledger, then the end of the journal. A crash anywhere in between is mended at
the next start by doing all of it again: the history knows its turns, the ledger its receipts.
"""

import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from kernel.conversation.fold import TurnFold
from kernel.conversation.history import Histories, read_journal
from kernel.domain.turn import Asking, Spent, Turn
from kernel.domain.turn_events import Counted, TurnEvent
from kernel.domain.usage import DayUsage
from kernel.errors import KernelError
from kernel.storage.conversations import ConversationFiles
from kernel.storage.usage import UsageLedger

logger = logging.getLogger(__name__)

CountTokens = Callable[[str], int]


class Bookkeeping:
    """The books of one userData folder."""

    def __init__(
        self, files: ConversationFiles, ledger: UsageLedger, count_tokens: CountTokens
    ) -> None:
        self._files = files
        self._ledger = ledger
        self._count_tokens = count_tokens
        self.histories = Histories(files)

    def missing_count(self, fold: TurnFold) -> Iterator[TurnEvent]:
        """The cost of a request that was cut off before anybody told it, counted by us."""
        uncounted = fold.uncounted
        if uncounted:
            read = self._count_tokens(uncounted.sent) + uncounted.known
            written = self._count_tokens(uncounted.received) if uncounted.received else 0
            yield Counted(Spent(read, written, exact=False))

    def settle(self, turn: Turn, summaries: dict[int, str] | None = None) -> None:
        """Keep the turn; doing it again changes nothing. Raises StorageError."""
        self.histories.append(turn, summaries)
        asking, spent = turn.asking, turn.spent
        if asking.repo_id is not None and (spent.input_tokens or spent.output_tokens):
            usage = DayUsage(
                asking.model_name, _day(asking), spent.input_tokens, spent.output_tokens
            )
            self._ledger.record_once(_receipt(asking), asking.repo_id, usage)

    def recover(self, conversation_id: int | None = None) -> None:
        """Settle what crashes have left; of one conversation if its lock is held, else of all."""
        for path, number in self._files.journals().items():
            if conversation_id is not None and number != conversation_id:
                continue
            lock = self._files.lock(number)
            if conversation_id is None and not lock.acquire():
                continue  # it is under way, here or in another process
            try:
                fold = read_journal(path)
                if fold:
                    for event in self.missing_count(fold):
                        fold.add(event)
                    self.settle(fold.turn())
                path.unlink(missing_ok=True)
            except (KernelError, OSError) as error:
                logger.warning("%s stays for a later start: %s", path.name, error)
            finally:
                lock.release()

    def forget_receipts(self) -> None:
        """Drop the receipts of turns that no journal can bring up again."""
        self._ledger.forget_receipts({path.stem for path in self._files.journals()})


def _receipt(asking: Asking) -> str:
    """The name of the turn's journal."""
    return f"{asking.conversation_id}-{asking.time_ms}"


def _day(asking: Asking) -> str:
    """The day as the person's calendar has it."""
    moment = datetime.fromtimestamp(asking.time_ms / 1000, tz=UTC)
    return moment.astimezone().date().isoformat()
