"""Begin, stop, recover and delete conversations.

One turn of each conversation runs at a time, and any thread may stop it.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from codekernel.conversation.archive import ConversationArchive
from codekernel.conversation.history import TurnJournal, UnsavedUndo
from codekernel.conversation.history_mirror import HistoryMirror
from codekernel.conversation.retriever import RepositoryAccess
from codekernel.conversation.turn import AcceptedTurn, RunningQuestionTurn, TurnContext
from codekernel.conversation.turn_store import CountTokens, SaveRetryThread, TurnStore
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import Settings
from codekernel.domain.turn import AgentTurnRef, PastTurn, TurnRequest, UndoResult
from codekernel.errors import KernelError, StorageError, WrongParam
from codekernel.llm.model_pool import ChatModelPool, ModelChoice
from codekernel.storage.conversation_files import ConversationFiles
from codekernel.storage.file_locks import ProcessLock
from codekernel.storage.vault.tables import UsageLedger


class RunningTurns:
    """The turns under way, by conversation; ``on_crowd`` hears how many, at every change."""

    def __init__(self) -> None:
        self.on_count_changed: Callable[[int], None] = lambda _: None
        self._cancel_tokens: dict[int, CancelToken] = {}
        self._announced: set[int] = set()
        self._stopped_early: set[int] = set()
        self._lock = threading.Lock()

    def announce(self, conversation_id: int) -> None:
        """A question of this conversation has arrived and will begin; no stop was meant for it."""
        with self._lock:
            if conversation_id not in self._cancel_tokens:
                self._announced.add(conversation_id)
                self._stopped_early.discard(conversation_id)

    def start(self, conversation_id: int, cancel: CancelToken) -> None:
        """Begin a turn; raises WrongParam while another of this conversation is under way."""
        with self._lock:
            if conversation_id in self._cancel_tokens:
                raise WrongParam(format_busy_message(conversation_id))
            self._cancel_tokens[conversation_id] = cancel
            self._announced.discard(conversation_id)
            stopped = conversation_id in self._stopped_early
            self._stopped_early.discard(conversation_id)
            self.on_count_changed(len(self._cancel_tokens))
        if stopped:
            cancel.cancel()

    def reserve(self, conversation_id: int) -> bool:
        """Keep questions away until ``leave``; false while one is being answered."""
        with self._lock:
            if conversation_id in self._cancel_tokens:
                return False
            self._cancel_tokens[conversation_id] = CancelToken()
            return True

    def finish(self, conversation_id: int) -> None:
        """The turn is over."""
        with self._lock:
            self._cancel_tokens.pop(conversation_id, None)
            self.on_count_changed(len(self._cancel_tokens))

    def withdraw(self, conversation_id: int) -> None:
        """The announced question was refused before it began."""
        with self._lock:
            self._announced.discard(conversation_id)
            self._stopped_early.discard(conversation_id)

    def stop(self, conversation_id: int) -> bool:
        """Ask a turn to end; false if there is none."""
        with self._lock:
            token = self._cancel_tokens.get(conversation_id)
            if token is None and conversation_id in self._announced:
                self._stopped_early.add(conversation_id)
                return True
        if token is not None:
            token.cancel()
        return token is not None


def format_busy_message(conversation_id: int) -> str:
    """What a second question is told."""
    return (
        f"Conversation {conversation_id} is still answering the question before this one:"
        " wait for its end, or stop it, and ask again."
    )


def format_delete_refusal(conversation_id: int) -> str:
    """What is told whoever deletes a conversation too early."""
    return (
        f"Conversation {conversation_id} is being answered: wait for its end, or stop it,"
        " and delete it then."
    )


def format_undo_refusal(conversation_id: int) -> str:
    """What is told whoever undoes a turn too early."""
    return (
        f"Conversation {conversation_id} is still at work: wait for its end, or stop it,"
        " and undo it then."
    )


logger = logging.getLogger(__name__)

# Characters; a page of a log, or a file pasted whole, is less. More would be most of a model's
# window, and what is this long belongs into the repository.
MAX_QUESTION_CHARS = 100_000

# Where an agent will work, chosen when its conversation is held and its past known; what it holds
# meanwhile it puts on the stack. Raises KernelError.
PrepareAgent = Callable[[Sequence[PastTurn], ExitStack], AgentTurnRef]


class Conversations:
    """All conversations of one userData folder; any thread may ask, stop or recover.

    with conversations.begin(1, "why?", "deepseek", place, cancel) as talk:
        for event in talk.events(): ...
    """

    def __init__(
        self,
        files: ConversationFiles,
        ledger: UsageLedger,
        models: ChatModelPool,
        settings: Callable[[], Settings],
        count_tokens: CountTokens,
    ) -> None:
        self._files = files
        self._model_pool = models
        self._settings = settings
        self._count_tokens = count_tokens
        self._tokenizer_warmed = threading.Event()
        self._store = TurnStore(files, ledger, count_tokens)
        self.archive = ConversationArchive(files, self._store.unsaved)
        self._running = RunningTurns()
        self._savers = [self._store.save_all_pending]
        self._retry = SaveRetryThread(self._save_unsaved)
        self._store.unsaved.on_added = self._retry.start
        self._mirror: HistoryMirror | None = None

    def enable_mirror(self, mirror: HistoryMirror) -> None:
        """Copy each history into its repository as well, and go on with those found there."""
        self._mirror = mirror
        self._store.histories.on_written = mirror.write
        self._store.histories.merge_external = mirror.merge_mirrored
        mirror.on_write_failed = self.add_saver(mirror.save_pending)

    def watch_running_count(self, on_count_changed: Callable[[int], None]) -> None:
        """Have ``told`` called with the number of turns under way, whenever it changes."""
        self._running.on_count_changed = on_count_changed

    def announce(self, conversation_id: int) -> None:
        """A question has arrived and will begin as soon as it can; it may be stopped already."""
        self._running.announce(conversation_id)

    def begin(
        self,
        conversation_id: int,
        query: str,
        model: str,
        repository: RepositoryAccess,
        cancel: CancelToken,
    ) -> RunningQuestionTurn:
        """Accept a question.

        Raises WrongParam for a question that is none, or while the conversation answers another;
        NetworkError for a model that cannot be asked; StorageError if what was said before cannot
        be read now.
        """
        return RunningQuestionTurn(self.accept(conversation_id, query, model, repository, cancel))

    def accept(  # noqa: PLR0913 - what a question consists of
        self,
        conversation_id: int,
        query: str,
        model: str,
        repository: RepositoryAccess,
        cancel: CancelToken,
        *,
        prepare: PrepareAgent | None = None,
    ) -> AcceptedTurn:
        """Accept a question, or with ``prepare`` the task of an agent; raises as ``begin`` does."""
        token = cancel.create_child()
        try:
            _validate_query(query)
            choice = self._model_pool.find_model(model)
        except KernelError:
            self._running.withdraw(conversation_id)
            raise
        with ExitStack() as undoing:
            self._running.start(conversation_id, token)
            undoing.callback(self._running.finish, conversation_id)
            lock = self._acquire_lock(conversation_id, format_busy_message(conversation_id))
            undoing.callback(lock.release)
            self._store.recover_journals(conversation_id)
            asking = self._make_turn_request(conversation_id, query, choice, repository)
            past = self._store.histories.open_for_turn(asking)
            if prepare:
                asking = replace(asking, agent=prepare(past, undoing))
            notebook = TurnJournal(
                asking, self._files.journal_path(conversation_id, asking.time_ms)
            )
            leave = undoing.pop_all().close
        self._warm_up_tokenizer(choice)
        given = TurnContext(repository, choice, self._model_pool, self._settings(), past, token)
        return AcceptedTurn(notebook, given, self._store, leave)

    def stop(self, conversation_id: int) -> bool:
        """Ask a running turn to end; it keeps what was shown. False if there is none."""
        return self._running.stop(conversation_id)

    def delete(self, conversation_id: int, repo_path: str) -> None:
        """Delete a conversation about this folder; what it cost stays in the ledger.

        Raises WrongParam while it is being answered, here or in another process, or if there is
        none.
        """
        self.archive.read(conversation_id, repo_path)
        with self.lock_conversation(conversation_id, format_delete_refusal(conversation_id)):
            self._files.remove(conversation_id)
            self._store.unsaved.discard_conversation(conversation_id)
        if self._mirror:
            self._mirror.remove(conversation_id, repo_path)

    @contextmanager
    def lock_conversation(self, conversation_id: int, refusal: str) -> Iterator[None]:
        """Keep questions away, in all processes; raises WrongParam if one is being answered.

        What a crash has left of the conversation is settled by then.
        """
        if not self._running.reserve(conversation_id):
            raise WrongParam(refusal)
        with ExitStack() as undoing:
            undoing.callback(self._running.finish, conversation_id)
            undoing.callback(self._acquire_lock(conversation_id, refusal).release)
            self._store.recover_journals(conversation_id)
            yield

    def record_undo(self, conversation_id: int, time_ms: int, files: Sequence[UndoResult]) -> None:
        """Keep what became of the files of an agent's turn; the conversation must be held."""
        self._store.save_or_defer(UnsavedUndo(conversation_id, time_ms, files))

    def recover(self) -> None:
        """Settle the turns that crashes have left unfinished."""
        try:
            self._files.remove_temporaries()
            if self._files.list_journals():
                self._store.recover_journals()
                self._store.prune_receipts()
        except KernelError as error:
            logger.warning("unfinished turns are kept for a later start: %s", error)
        if self._mirror:
            self._store.histories.mirror_missing(self._mirror.has_copy)

    def add_saver(self, save: Callable[[], str]) -> Callable[[], None]:
        """Have ``save`` tried whenever histories are; returns how to say that it must be.

        It returns what the disk refused, or "".
        """
        self._savers.append(save)
        return self._retry.start

    def _save_unsaved(self) -> str:
        refusals = [save() for save in self._savers]
        return next(filter(None, refusals), "")

    def find_latest(self, repo_path: str) -> int | None:
        """The conversation about this folder that was written last."""
        return self._store.histories.find_latest(repo_path)

    def close(self) -> None:
        """Save what is unsaved, if the disk takes it by now; give back connections and models."""
        refusal = self._retry.finish()
        if refusal:
            logger.error("answers that were shown could not be saved. %s", refusal)
        self._model_pool.close()

    def _warm_up_tokenizer(self, choice: ModelChoice) -> None:
        """Have the tokenizer loaded by the time it is needed: a stop has no time to wait for it."""
        if choice.remote and not self._tokenizer_warmed.is_set():
            self._tokenizer_warmed.set()
            threading.Thread(
                target=self._count_tokens, args=("",), name="tokenizer", daemon=True
            ).start()

    def _acquire_lock(self, conversation_id: int, refusal: str) -> ProcessLock:
        """The conversation's lock, taken; on a disk that cannot lock, as if it were."""
        lock = self._files.create_lock(conversation_id)
        try:
            with self._store.save_lock:  # who only saves lets go of it at once
                free = lock.try_acquire()
        except StorageError as error:
            logger.warning("conversation %d goes on without its lock. %s", conversation_id, error)
            return lock
        if not free:
            raise WrongParam(refusal)
        return lock

    def _make_turn_request(
        self, conversation_id: int, query: str, choice: ModelChoice, repository: RepositoryAccess
    ) -> TurnRequest:
        time_ms = time.time_ns() // 1_000_000
        while os.path.lexists(self._files.journal_path(conversation_id, time_ms)):
            time_ms += 1
        return TurnRequest(
            conversation_id=conversation_id,
            query=query,
            model_name=choice.model_name,
            time_ms=time_ms,
            repo_id=repository.repo_id,
            repo_path=str(repository.root),
        )


def _validate_query(query: str) -> None:
    if not query.strip():
        raise WrongParam("the query is empty: say what you want to know")
    if len(query) > MAX_QUESTION_CHARS:
        raise WrongParam(
            f"the query has {len(query)} characters, but at most {MAX_QUESTION_CHARS} can be asked:"
            " put long texts into a file of the repository"
        )
