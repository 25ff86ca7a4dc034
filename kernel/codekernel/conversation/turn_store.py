"""A turn built from its events, its journal, and saving a finished one exactly once.

The history file, the recovery of a journal after a crash, and every view of a turn use one reducer.
History is written first, then the usage ledger, then the journal is removed; a crash in between is
repaired at the next start. What the disk refuses stays in memory and is retried on one thread, with
backoff, until all of it is saved.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from codekernel.conversation.history import (
    ConversationHistories,
    HistoryEdit,
    HistoryMirror,
    UnsavedTurn,
)
from codekernel.domain import turn_events as events
from codekernel.domain.chat import ROLE_ASSISTANT, AgentMessage, TextContent
from codekernel.domain.turn import (
    Excerpt,
    FileChange,
    RetrievalRound,
    TokenUsage,
    Turn,
    TurnOutcome,
    TurnRequest,
)
from codekernel.domain.turn_events import AgentMessageBuilder, TurnEvent
from codekernel.errors import KernelError, StorageError
from codekernel.loop.loop import CountTokens
from codekernel.protocol.history_file import decode_journal_lines, encode_journal_line
from codekernel.storage.conversation_files import (
    ConversationFiles,
    TurnJournalFile,
    delete_turn_journal,
)
from codekernel.storage.safe_files import NotRegularFile, read_regular
from codekernel.storage.vault.vault import DayUsage, UsageLedger


class TurnBuilder:
    """Builds a turn event by event; ``build`` may be called at any time.

    ``token_usage`` are the tokens of all requests that reported them.
    """

    def __init__(self, request: TurnRequest) -> None:
        self.request = request
        self.token_usage = TokenUsage()
        self.changes: list[FileChange] = []  # that an agent made
        self._rounds: list[RetrievalRound] = []
        self._answer: list[str] = []
        self._error = ""
        self._end = events.TurnDone(TurnOutcome.INTERRUPTED)
        self._open_request: events.ModelRequestSent | None = None
        self._received_parts: list[str] = []
        self._message_builder = AgentMessageBuilder()
        self._complete_messages: list[AgentMessage] = []

    def add(self, event: TurnEvent) -> None:
        """Add the next event."""
        match event:
            case events.RetrievalAnnotated(purpose):
                self._rounds.append(RetrievalRound(purpose, (), ()))
            case events.SearchIssued(query):
                self._extend_round(searches=(query,))
            case events.ExcerptRetrieved(excerpt):
                self._extend_round(results=(excerpt,))
            case events.AnswerDelta(text):
                self._answer.append(text)
            case events.TurnFailed(_, message):
                self._error, self._end = message, events.TurnDone(TurnOutcome.FAILED)
            case events.TurnDone(spent=spent):
                self._end, self.token_usage = event, spent
            case _:
                self._add_usage(event)

    @property
    def answer(self) -> str:
        """The answer so far; of an agent, its last text."""
        if self._answer:
            return "".join(self._answer)
        for message in reversed(self._list_messages()):
            texts = [block.text for block in message.content if isinstance(block, TextContent)]
            if texts and message.role == ROLE_ASSISTANT:
                return "\n\n".join(texts)
        return ""

    @property
    def results(self) -> list[Excerpt]:
        """All excerpts so far."""
        return [excerpt for one in self._rounds for excerpt in one.results]

    def estimate_missing_usage(self, count_tokens: CountTokens) -> Iterator[TurnEvent]:
        """Return the estimated tokens of a request that was cut off before they were reported."""
        sent = self._open_request
        if sent is not None:
            received = "".join(self._received_parts)
            read = count_tokens(sent.text) + sent.known
            written = count_tokens(received) if received else 0
            yield events.TokensCounted(TokenUsage(read, written, exact=False))

    def build(self) -> Turn:
        """Return the turn so far."""
        return Turn(
            request=self.request,
            retrieval=tuple(self._rounds),
            answer=self.answer,
            outcome=self._end.outcome,
            error=self._error,
            citations=self._end.citations,
            masked=self._end.masked,
            token_usage=self.token_usage,
            messages=self._list_messages(),
            changes=tuple(self.changes),
        )

    def _extend_round(
        self, searches: tuple[str, ...] = (), results: tuple[Excerpt, ...] = ()
    ) -> None:
        last = self._rounds.pop() if self._rounds else RetrievalRound("", (), ())
        self._rounds.append(
            replace(last, searches=last.searches + searches, results=last.results + results)
        )

    def _add_usage(self, event: TurnEvent) -> None:
        match event:
            case events.ModelRequestSent():
                self._open_request = event
                self._received_parts.clear()
            case events.ModelTextReceived(text):
                self._received_parts.append(text)
            case events.TokensCounted(spent):
                self.token_usage += spent
                self._open_request = None
                self._received_parts.clear()
            case _:
                self._add_agent_step(event)

    def _add_agent_step(self, event: TurnEvent) -> None:
        if isinstance(event, events.AgentStep):
            self._complete_messages += self._message_builder.add(event)
        elif isinstance(event, events.FileChanged) and event.change not in self.changes:
            self.changes.append(event.change)

    def _list_messages(self) -> tuple[AgentMessage, ...]:
        """Return the agent's messages so far; the last one may be incomplete."""
        partial = self._message_builder.build_partial()
        return (*self._complete_messages, *([partial] if partial else ()))


class TurnJournal:
    """The journal of one turn: each event is written at once and added to ``builder``."""

    def __init__(self, request: TurnRequest, path: Path) -> None:
        self.builder = TurnBuilder(request)
        self.path = path
        self._file = TurnJournalFile(path)
        self._file.append(encode_journal_line(events.TurnBegun(request)))

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
    lines, is_whole = decode_journal_lines(content)
    builder = None
    if lines and isinstance(lines[0], events.TurnBegun):
        builder = TurnBuilder(lines[0].asking)
        for event in lines[1:]:
            builder.add(event)
    is_sound = is_whole and (builder or not content.strip())
    return builder, "" if is_sound else "lines of it are damaged"


logger = logging.getLogger(__name__)

# Room may come back at any moment, or not for hours. A try costs the writing of a small file.
MIN_BACKOFF_SECONDS = 1.0

MAX_BACKOFF_SECONDS = 30.0


class SaveRetryThread:
    """Retries what the disk has refused, from ``start`` until all of it is saved, or ``finish``."""

    def __init__(self, *savers: Callable[[], str]) -> None:
        self._savers = list(savers)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    def add_saver(self, save: Callable[[], str]) -> None:
        """Call ``save`` at every try; it returns what the disk refused, or ""."""
        self._savers.append(save)

    def start(self) -> None:
        """Start the thread, because there is something to save."""
        with self._lock:
            if self._thread is None and not self._stopping.is_set():
                self._thread = threading.Thread(target=self._run, name="save", daemon=True)
                self._thread.start()

    def finish(self) -> str:
        """Try a last time, at once; return what was refused, or ""."""
        self._stopping.set()
        return self._try_save()

    def _run(self) -> None:
        wait_seconds = MIN_BACKOFF_SECONDS
        while not self._stopping.wait(wait_seconds):
            with self._lock:  # what comes after a success begins another thread
                if not self._try_save():
                    logger.info("all refused writes are saved now")
                    self._thread = None
                    return
            wait_seconds = min(2 * wait_seconds, MAX_BACKOFF_SECONDS)

    def _try_save(self) -> str:
        try:
            refusals = [save() for save in self._savers]
            return next(filter(None, refusals), "")
        except (KernelError, OSError) as error:
            return str(error) or type(error).__name__


class TurnStore:
    """The turns of one userData folder; ``save_lock`` is held by the thread that writes them."""

    def __init__(
        self,
        files: ConversationFiles,
        ledger: UsageLedger,
        count_tokens: CountTokens,
    ) -> None:
        self.files = files
        self._ledger = ledger
        self.count_tokens = count_tokens
        self.save_retry = SaveRetryThread(self.save_all_pending)
        self.mirror = HistoryMirror(self.save_retry.start)
        self.save_retry.add_saver(self.mirror.save_pending)
        self.histories = ConversationHistories(files, self.mirror)
        self.unsaved = self.histories.unsaved
        self.save_lock = threading.RLock()

    def save_or_defer(self, edit: HistoryEdit) -> str:
        """Save an edit on disk, else keep it in memory; return what the disk refused, or ""."""
        self.unsaved.add(edit)
        refusal = self.save_pending(edit.conversation_id)
        if refusal:
            logger.warning("conversation %d waits in memory: %s", edit.conversation_id, refusal)
            self.histories.publish_unsaved(edit.conversation_id)
            self.save_retry.start()
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
                self.unsaved.discard(edit)
        return ""

    def save_all_pending(self) -> str:
        """Write what is unsaved of every conversation; return the first refusal, or ""."""
        refusals = []
        for number in dict.fromkeys(edit.conversation_id for edit in self.unsaved):
            with self.save_lock:
                lock = self.files.create_lock(number)
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

    def mirror_missing(self, repo_path: str) -> None:
        """Mirror the histories about a folder that have no copy yet."""
        try:
            numbers = self.files.list_ids()
        except StorageError as error:
            logger.warning("conversations from before are not mirrored. %s", error)
            return
        for number in numbers:
            with self.save_lock:  # a turn that ends meanwhile writes a newer copy
                self.histories.mirror_missing(number, repo_path)

    def recover_journals(self, conversation_id: int | None = None) -> None:
        """Save turns that crashes cut off: of one conversation, whose lock is held, or of all."""
        if conversation_id is not None:
            self.save_pending(conversation_id)
        try:
            journals = self.files.list_journals()
        except StorageError as error:
            logger.warning("unfinished turns are kept for a later start: %s", error)
            return
        for path, number in journals.items():
            if conversation_id is not None and number != conversation_id:
                continue
            if path in {edit.journal for edit in self.unsaved}:
                continue  # memory knows more of this turn
            # A question meanwhile waits for ``save_lock`` and does not find the conversation busy.
            with self.save_lock:
                lock = self.files.create_lock(number)
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
            for event in builder.estimate_missing_usage(self.count_tokens):
                builder.add(event)
            self._commit(UnsavedTurn(builder.build()))
        if damage:
            self.files.quarantine(path, damage)
        else:
            path.unlink(missing_ok=True)

    def _commit(self, edit: HistoryEdit) -> None:
        """Write it into the history and the ledger; doing so again changes nothing."""
        self.histories.write_edit(edit)
        if not isinstance(edit, UnsavedTurn):
            return
        request, spent = edit.turn.request, edit.turn.token_usage
        if request.repo_id is None or not (spent.input_tokens or spent.output_tokens):
            return
        day = datetime.fromtimestamp(request.time_ms / 1000, tz=UTC).astimezone().date()
        usage = DayUsage(
            request.model_name, day.isoformat(), spent.input_tokens, spent.output_tokens
        )
        try:
            receipt = f"{request.conversation_id}-{request.time_ms}"  # the name of its journal
            self._ledger.record_once(receipt, request.repo_id, usage)
        except StorageError as error:
            raise StorageError(f"The answer is saved, but not what it cost. {error}") from error

    def prune_receipts(self) -> None:
        """Drop the receipts of turns that no journal can bring up again."""
        journals = {*self.files.list_journals(), *(edit.journal for edit in self.unsaved)}
        self._ledger.delete_receipts({path.stem for path in journals if path})
