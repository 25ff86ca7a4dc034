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
from functools import cache

from codekernel.conversation.archive import ConversationArchive
from codekernel.conversation.history import UnsavedUndo
from codekernel.conversation.repository_access import RepositoryAccess
from codekernel.conversation.turn import AcceptedTurn, RunningQuestionTurn
from codekernel.conversation.turn_store import TurnJournal, TurnStore
from codekernel.domain.chat import ChatBackend
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import Settings
from codekernel.domain.turn import AgentTurnRef, PastTurn, TurnRequest, UndoResult
from codekernel.errors import KernelError, StorageError, WrongParam
from codekernel.inference.model_folder import TRANSFORMER_MODEL, get_bundled_folder
from codekernel.llm.model_pool import ChatModelPool, ModelChoice
from codekernel.protocol.messages.agent_turns import BeginAgentTurn
from codekernel.protocol.messages.conversation import BeginConversation
from codekernel.storage.conversation_files import ConversationFiles
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import UsageLedger, Vault


class RunningTurns:
    """The running turns by conversation; ``on_count_changed`` is called with their number."""

    def __init__(self, on_count_changed: Callable[[int], None] = lambda _: None) -> None:
        self._on_count_changed = on_count_changed
        self._cancel_tokens: dict[int, CancelToken] = {}
        # Questions that have arrived and not started, and whether they were stopped already.
        self._announced: dict[int, bool] = {}
        self._lock = threading.Lock()

    def announce(self, conversation_id: int) -> None:
        """Record that a question of this conversation has arrived; earlier stops are not for it."""
        with self._lock:
            if conversation_id not in self._cancel_tokens:
                self._announced[conversation_id] = False

    def start(self, conversation_id: int, cancel: CancelToken) -> None:
        """Start a turn. Raises WrongParam while another of this conversation is running."""
        with self._lock:
            if conversation_id in self._cancel_tokens:
                raise WrongParam(BUSY_MESSAGE.format(conversation_id))
            self._cancel_tokens[conversation_id] = cancel
            is_stopped = self._announced.pop(conversation_id, False)
            self._on_count_changed(len(self._cancel_tokens))
        if is_stopped:
            cancel.cancel()

    def is_running(self, conversation_id: int) -> bool:
        """Return whether a turn of this conversation runs."""
        with self._lock:
            return conversation_id in self._cancel_tokens

    def reserve(self, conversation_id: int) -> bool:
        """Refuse questions until ``finish``; return false while one is being answered."""
        with self._lock:
            if conversation_id in self._cancel_tokens:
                return False
            self._cancel_tokens[conversation_id] = CancelToken()
            return True

    def finish(self, conversation_id: int) -> None:
        """Remove a turn that has ended."""
        with self._lock:
            self._cancel_tokens.pop(conversation_id, None)
            self._on_count_changed(len(self._cancel_tokens))

    def withdraw(self, conversation_id: int) -> None:
        """Remove an announced question that was refused."""
        with self._lock:
            self._announced.pop(conversation_id, None)

    def stop(self, conversation_id: int) -> bool:
        """Cancel a turn; return false if there is none."""
        with self._lock:
            token = self._cancel_tokens.get(conversation_id)
            if token is None and conversation_id in self._announced:
                self._announced[conversation_id] = True
                return True
        if token is not None:
            token.cancel()
        return token is not None


# Why a conversation with a running turn refuses another question, to be deleted, and an undo.
BUSY_MESSAGE = (
    "Conversation {} is still answering the question before this one:"
    " wait for its end, or stop it, and ask again."
)

FORK_REFUSAL = "There is a conversation {} already; fork to another id."

DELETE_REFUSAL = (
    "Conversation {} is being answered: wait for its end, or stop it, and delete it then."
)

INTERRUPTED_TASK_MESSAGE = (
    "The kernel ended unexpectedly after it had begun this task. What was done of it is in the"
    " conversation and can be undone; ask again to go on."
)

UNDO_REFUSAL = "Conversation {} is still at work: wait for its end, or stop it, and undo it then."


logger = logging.getLogger(__name__)

# Characters; a page of a log, or a file pasted whole, is less. More would be most of a model's
# window, and what is this long belongs into the repository.
MAX_QUESTION_CHARS = 100_000

# Chooses the session of an agent once its conversation is locked and its past known; what must be
# released after the turn goes on the stack. Raises KernelError.
PrepareAgent = Callable[[Sequence[PastTurn], ExitStack], AgentTurnRef]


class Conversations:
    """All conversations of one userData folder; its methods may be called from any thread.

    ``on_count_changed`` is called with the number of running turns.

    with conversations.begin(asked, repository, cancel) as turn:
        for event in turn.stream_events(): ...
    """

    def __init__(
        self,
        store: TurnStore,
        models: ChatModelPool,
        on_count_changed: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.models = models
        self.save_retry = store.save_retry
        self.archive = ConversationArchive(store.files, store.histories)
        self._store = store
        self._files = store.files
        self._running = RunningTurns(on_count_changed)
        self._tokenizer_warmed = threading.Event()
        self._recovery_lock = threading.Lock()
        self._is_recovered = False

    def announce(self, conversation_id: int) -> None:
        """Record that a question has arrived, so that it can be stopped before it starts."""
        self._running.announce(conversation_id)

    def begin(
        self, asked: BeginConversation, repository: RepositoryAccess, cancel: CancelToken
    ) -> RunningQuestionTurn:
        """Accept a question; one that a kernel began under the same key and lost is replaced.

        Raises WrongParam for an invalid question, or while the conversation answers another;
        NetworkError for a model that cannot be used; StorageError if the history cannot be read
        now.
        """
        return RunningQuestionTurn(self.accept(asked, repository, cancel))

    def accept(
        self,
        asked: BeginConversation | BeginAgentTurn,
        repository: RepositoryAccess,
        cancel: CancelToken,
        prepare: PrepareAgent | None = None,
    ) -> AcceptedTurn:
        """Accept a question, or with ``prepare`` the task of an agent; raises as ``begin`` does.

        Raises KernelError for a task that was begun under the same key: what it did stays done.
        """
        conversation_id, turn_key = asked.conversation_id, asked.turn_key
        token = cancel.create_child()
        try:
            _validate_query(asked.query)
            choice = self.models.find_model(asked.model_name)
        except KernelError:
            self._running.withdraw(conversation_id)
            raise
        with ExitStack() as resources:
            self._running.start(conversation_id, token)
            self._enter_locked(resources, conversation_id, BUSY_MESSAGE)
            request = self._make_turn_request(asked, choice, repository)
            known = self._store.histories.open_for_turn(request)
            past = [turn for turn in known if not turn_key or turn.turn_key != turn_key]
            if prepare and len(past) < len(known):
                raise KernelError(INTERRUPTED_TASK_MESSAGE)
            if prepare:
                request = replace(request, agent=prepare(past, resources))
            path = self._files.journal_path(conversation_id, request.time_ms)
            journal = TurnJournal(request, path)
            release = resources.pop_all().close
        self._warm_up_tokenizer(choice)
        return AcceptedTurn(
            repository,
            choice,
            self.models,
            self.models.settings(),
            past,
            token,
            journal,
            self._store,
            release,
        )

    def is_running(self, conversation_id: int) -> bool:
        """Return whether a turn of a conversation runs."""
        return self._running.is_running(conversation_id)

    def stop(self, conversation_id: int) -> bool:
        """Cancel a running turn, which keeps what was shown; return false if there is none."""
        return self._running.stop(conversation_id)

    def fork(self, conversation_id: int, new_id: int, turn_count: int, repo_path: str) -> None:
        """Begin a conversation with the first turns of another one, which stays as it is.

        Raises WrongParam if there is no such conversation or turn, or the new id is taken.
        """
        found = self.archive.read(conversation_id, repo_path)
        if turn_count > len(found.history):
            raise WrongParam(f"Conversation {conversation_id} has {len(found.history)} turns.")
        with self.lock_conversation(new_id, FORK_REFUSAL):
            if self._store.histories.read(new_id):
                raise WrongParam(FORK_REFUSAL.format(new_id))
            self._store.histories.fork(conversation_id, new_id, turn_count)

    def delete(self, conversation_id: int, repo_path: str) -> None:
        """Delete a conversation about this folder; what it cost stays in the ledger.

        Raises WrongParam while it is being answered, here or in another process, or if there is
        none.
        """
        self.archive.read(conversation_id, repo_path)
        with self.lock_conversation(conversation_id, DELETE_REFUSAL):
            self._store.histories.delete(conversation_id)
        self._store.histories.delete_copy(conversation_id, repo_path)

    @contextmanager
    def lock_conversation(self, conversation_id: int, refusal: str) -> Iterator[None]:
        """Lock a conversation in all processes, after its interrupted turns are saved.

        Raises WrongParam with ``refusal`` if a question is being answered.
        """
        if not self._running.reserve(conversation_id):
            raise WrongParam(refusal.format(conversation_id))
        with ExitStack() as resources:
            self._enter_locked(resources, conversation_id, refusal)
            yield

    def record_undo(self, conversation_id: int, time_ms: int, files: Sequence[UndoResult]) -> None:
        """Save the results of an undo; the conversation must be locked."""
        self._store.save_or_defer(UnsavedUndo(conversation_id, time_ms, files))

    def recover_once(self) -> None:
        """Save the turns that crashes have interrupted, unless that was done."""
        with self._recovery_lock:
            if not self._is_recovered:
                self._is_recovered = True
                self.recover()

    def recover(self) -> None:
        """Save the turns that crashes have interrupted."""
        try:
            self._files.remove_temporaries()
            if self._files.list_journals():
                self._store.recover_journals()
                self._store.prune_receipts()
        except KernelError as error:
            logger.warning("unfinished turns are kept for a later start: %s", error)

    @contextmanager
    def mirror(self, repo_path: str) -> Iterator[None]:
        """Within the block, copy the histories about a folder into it, whoever asks."""
        with self._store.mirror.cover(repo_path):
            mirror = threading.Thread(
                target=self._store.mirror_missing, args=(repo_path,), name="mirror", daemon=True
            )
            mirror.start()
            yield

    def find_latest(self, repo_path: str) -> int | None:
        """Return the conversation about this folder that was written last."""
        return self._store.histories.find_latest(repo_path)

    def close(self) -> None:
        """Save what is unsaved, if the disk accepts it now, and close the models."""
        refusal = self.save_retry.finish()
        if refusal:
            logger.error("answers that were shown could not be saved. %s", refusal)
        self.models.close()

    def _warm_up_tokenizer(self, choice: ModelChoice) -> None:
        """Load the tokenizer in the background: a stop has no time to wait for it."""
        if choice.remote and not self._tokenizer_warmed.is_set():
            self._tokenizer_warmed.set()
            threading.Thread(
                target=self._store.count_tokens, args=("",), name="tokenizer", daemon=True
            ).start()

    def _enter_locked(self, resources: ExitStack, conversation_id: int, refusal: str) -> None:
        """Lock a conversation in all processes until ``resources`` are closed.

        A disk without locks is used without.
        """
        resources.callback(self._running.finish, conversation_id)
        lock = self._files.create_lock(conversation_id)
        try:
            with self._store.save_lock:  # a thread that only saves releases it soon
                is_free = lock.try_acquire()
        except StorageError as error:
            logger.warning("conversation %d runs without its lock. %s", conversation_id, error)
            is_free = True
        if not is_free:
            raise WrongParam(refusal.format(conversation_id))
        resources.callback(lock.release)
        self._store.recover_journals(conversation_id)

    def _make_turn_request(
        self,
        asked: BeginConversation | BeginAgentTurn,
        choice: ModelChoice,
        repository: RepositoryAccess,
    ) -> TurnRequest:
        time_ms = time.time_ns() // 1_000_000
        while os.path.lexists(self._files.journal_path(asked.conversation_id, time_ms)):
            time_ms += 1
        return TurnRequest(
            conversation_id=asked.conversation_id,
            query=asked.query,
            model_name=choice.model_name,
            time_ms=time_ms,
            repo_id=repository.repo_id,
            repo_path=str(repository.root),
            is_mirrored=repository.is_mirrored,
            turn_key=asked.turn_key,
        )


def open_conversations(
    user_data: UserData,
    vault: Vault,
    settings: Callable[[], Settings],
    find_key: Callable[[str], str],
    *,
    on_count_changed: Callable[[int], None] = lambda _: None,
) -> Conversations:
    """Return the conversations of a userData folder, with the chat models of the settings."""
    files = ConversationFiles(user_data.conversations_folder)
    store = TurnStore(files, UsageLedger(vault), count_tokens)
    models = ChatModelPool(settings, find_key, _open_backend)
    return Conversations(store, models, on_count_changed)


def count_tokens(text: str) -> int:
    """Count tokens for models that do not report them, with the bundled model's tokenizer."""
    return _load_token_counter()(text)


@cache
def _load_token_counter() -> Callable[[str], int]:
    from codekernel.inference.tokenizer_loader import ModelTokenCounter  # noqa: PLC0415 - heavy, seldom needed

    return ModelTokenCounter(get_bundled_folder() / TRANSFORMER_MODEL)


def _open_backend(choice: ModelChoice) -> ChatBackend:
    if choice.remote:
        from codekernel.llm.remote_backend import open_remote_backend  # noqa: PLC0415 - 70 ms, with the first question

        return open_remote_backend(*choice.remote, count_tokens)
    if choice.local:
        from codekernel.llm.providers.llama_cpp import open_local_backend  # noqa: PLC0415 - the same

        return open_local_backend(*choice.local, name=choice.name)
    raise AssertionError("a model is remote or local")


def _validate_query(query: str) -> None:
    if not query.strip():
        raise WrongParam("the query is empty: say what you want to know")
    if len(query) > MAX_QUESTION_CHARS:
        raise WrongParam(
            f"the query has {len(query)} characters, but at most {MAX_QUESTION_CHARS} can be asked:"
            " put long texts into a file of the repository"
        )
