"""The door of this room: questions begin and stop here, and what is kept of them is managed."""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from kernel.conversation.archive import Archive
from kernel.conversation.bookkeeping import Bookkeeping, CountTokens
from kernel.conversation.history import Notebook
from kernel.conversation.mirror import HistoryMirror
from kernel.conversation.models import ChatModels, Choice
from kernel.conversation.place import Place
from kernel.conversation.running import Running, already_running, cannot_be_deleted
from kernel.conversation.save_retry import SaveRetry
from kernel.conversation.talk import Talk
from kernel.conversation.under_way import Accepted, Circumstances
from kernel.conversation.unsaved import UnsavedUndo
from kernel.domain.cancel import CancelToken
from kernel.domain.settings import Settings
from kernel.domain.turn import AgentPlace, Asking, PastTurn
from kernel.domain.undone import Undone
from kernel.errors import KernelError, StorageError, WrongParam
from kernel.storage.conversations import ConversationFiles
from kernel.storage.instance_lock import InstanceLock
from kernel.storage.usage import UsageLedger

logger = logging.getLogger(__name__)

# Characters; a page of a log, or a file pasted whole, is less. More would be most of a model's
# window, and what is this long belongs into the repository.
LONGEST_QUERY = 100_000

# Where an agent will work, chosen when its conversation is held and its past known; what it holds
# meanwhile it puts on the stack. Raises KernelError.
Prepare = Callable[[Sequence[PastTurn], ExitStack], AgentPlace]


class Conversations:
    """All conversations of one userData folder; any thread may ask, stop or recover.

    with conversations.begin(1, "why?", "deepseek", place, cancel) as talk:
        for event in talk.events(): ...
    """

    def __init__(
        self,
        files: ConversationFiles,
        ledger: UsageLedger,
        models: ChatModels,
        settings: Callable[[], Settings],
        count_tokens: CountTokens,
    ) -> None:
        self._files = files
        self._models = models
        self._settings = settings
        self._count_tokens = count_tokens
        self._warming = threading.Event()
        self._bookkeeping = Bookkeeping(files, ledger, count_tokens)
        self.archive = Archive(files, self._bookkeeping.unsaved)
        self._running = Running()
        self._savers = [self._bookkeeping.save_everything]
        self._retry = SaveRetry(self._save_unsaved)
        self._bookkeeping.unsaved.on_added = self._retry.begin
        self._mirror: HistoryMirror | None = None

    def mirror_to(self, mirror: HistoryMirror) -> None:
        """Copy each history into its repository as well, and go on with those found there."""
        self._mirror = mirror
        self._bookkeeping.histories.on_written = mirror.write
        self._bookkeeping.histories.find = mirror.find
        mirror.on_refused = self.save_too(mirror.save_waiting)

    def tell_crowd(self, told: Callable[[int], None]) -> None:
        """Have ``told`` called with the number of turns under way, whenever it changes."""
        self._running.on_crowd = told

    def announce(self, conversation_id: int) -> None:
        """A question has arrived and will begin as soon as it can; it may be stopped already."""
        self._running.announce(conversation_id)

    def begin(
        self, conversation_id: int, query: str, model: str, place: Place, cancel: CancelToken
    ) -> Talk:
        """Accept a question.

        Raises WrongParam for a question that is none, or while the conversation answers another;
        NetworkError for a model that cannot be asked; StorageError if what was said before cannot
        be read now.
        """
        return Talk(self.accept(conversation_id, query, model, place, cancel))

    def accept(  # noqa: PLR0913 - what a question consists of
        self,
        conversation_id: int,
        query: str,
        model: str,
        place: Place,
        cancel: CancelToken,
        *,
        prepare: Prepare | None = None,
    ) -> Accepted:
        """Accept a question, or with ``prepare`` the task of an agent; raises as ``begin`` does."""
        token = cancel.child()
        try:
            _check(query)
            choice = self._models.find(model)
        except KernelError:
            self._running.withdraw(conversation_id)
            raise
        with ExitStack() as undoing:
            self._running.enter(conversation_id, token)
            undoing.callback(self._running.leave, conversation_id)
            lock = self._locked(conversation_id, already_running(conversation_id))
            undoing.callback(lock.release)
            self._bookkeeping.recover(conversation_id)
            asking = self._asking(conversation_id, query, choice, place)
            past = self._bookkeeping.histories.begin(asking)
            if prepare:
                asking = replace(asking, agent=prepare(past, undoing))
            notebook = Notebook(asking, self._files.journal(conversation_id, asking.time_ms))
            leave = undoing.pop_all().close
        self._warm_up(choice)
        given = Circumstances(place, choice, self._models, self._settings(), past, token)
        return Accepted(notebook, given, self._bookkeeping, leave)

    def stop(self, conversation_id: int) -> bool:
        """Ask a running turn to end; it keeps what was shown. False if there is none."""
        return self._running.stop(conversation_id)

    def delete(self, conversation_id: int, repo_path: str) -> None:
        """Delete a conversation about this folder; what it cost stays in the ledger.

        Raises WrongParam while it is being answered, here or in another process, or if there is
        none.
        """
        self.archive.read(conversation_id, repo_path)
        with self.held(conversation_id, cannot_be_deleted(conversation_id)):
            self._files.remove(conversation_id)
            self._bookkeeping.unsaved.forget(conversation_id)
        if self._mirror:
            self._mirror.remove(conversation_id, repo_path)

    @contextmanager
    def held(self, conversation_id: int, refusal: str) -> Iterator[None]:
        """Keep questions away, in all processes; raises WrongParam if one is being answered.

        What a crash has left of the conversation is settled by then.
        """
        if not self._running.hold(conversation_id):
            raise WrongParam(refusal)
        with ExitStack() as undoing:
            undoing.callback(self._running.leave, conversation_id)
            undoing.callback(self._locked(conversation_id, refusal).release)
            self._bookkeeping.recover(conversation_id)
            yield

    def note_undone(self, conversation_id: int, time_ms: int, files: Sequence[Undone]) -> None:
        """Keep what became of the files of an agent's turn; the conversation must be held."""
        self._bookkeeping.keep(UnsavedUndo(conversation_id, time_ms, files))

    def recover(self) -> None:
        """Settle the turns that crashes have left unfinished."""
        try:
            self._files.remove_temporaries()
            if self._files.journals():
                self._bookkeeping.recover()
                self._bookkeeping.forget_receipts()
        except KernelError as error:
            logger.warning("unfinished turns are kept for a later start: %s", error)
        if self._mirror:
            self._bookkeeping.histories.mirror_missing(self._mirror.has)

    def save_too(self, save: Callable[[], str]) -> Callable[[], None]:
        """Have ``save`` tried whenever histories are; returns how to say that it must be.

        It returns what the disk refused, or "".
        """
        self._savers.append(save)
        return self._retry.begin

    def _save_unsaved(self) -> str:
        refusals = [save() for save in self._savers]
        return next(filter(None, refusals), "")

    def latest_of(self, repo_path: str) -> int | None:
        """The conversation about this folder that was written last."""
        return self._bookkeeping.histories.latest_of(repo_path)

    def close(self) -> None:
        """Save what is unsaved, if the disk takes it by now; give back connections and models."""
        refusal = self._retry.end()
        if refusal:
            logger.error("answers that were shown could not be saved. %s", refusal)
        self._models.close()

    def _warm_up(self, choice: Choice) -> None:
        """Have the tokenizer loaded by the time it is needed: a stop has no time to wait for it."""
        if choice.remote and not self._warming.is_set():
            self._warming.set()
            threading.Thread(
                target=self._count_tokens, args=("",), name="tokenizer", daemon=True
            ).start()

    def _locked(self, conversation_id: int, refusal: str) -> InstanceLock:
        """The conversation's lock, taken; on a disk that cannot lock, as if it were."""
        lock = self._files.lock(conversation_id)
        try:
            with self._bookkeeping.saving:  # who only saves lets go of it at once
                free = lock.take()
        except StorageError as error:
            logger.warning("conversation %d goes on without its lock. %s", conversation_id, error)
            return lock
        if not free:
            raise WrongParam(refusal)
        return lock

    def _asking(self, conversation_id: int, query: str, choice: Choice, place: Place) -> Asking:
        time_ms = time.time_ns() // 1_000_000
        while os.path.lexists(self._files.journal(conversation_id, time_ms)):
            time_ms += 1
        return Asking(
            conversation_id=conversation_id,
            query=query,
            model_name=choice.model_name,
            time_ms=time_ms,
            repo_id=place.repo_id,
            repo_path=str(place.root),
        )


def _check(query: str) -> None:
    if not query.strip():
        raise WrongParam("the query is empty: say what you want to know")
    if len(query) > LONGEST_QUERY:
        raise WrongParam(
            f"the query has {len(query)} characters, but at most {LONGEST_QUERY} can be asked:"
            " put long texts into a file of the repository"
        )
