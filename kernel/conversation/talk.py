"""One turn from its question to its place in the history; whatever happens, it gets there."""

import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Self, get_args

from kernel.conversation.bookkeeping import Bookkeeping
from kernel.conversation.budget import budget_for
from kernel.conversation.converse import Inquiry
from kernel.conversation.history import Notebook
from kernel.conversation.models import ChatModels, Choice
from kernel.conversation.place import Place
from kernel.conversation.remembered import Memory, Summarizer, recalled
from kernel.conversation.retrieving import Retriever
from kernel.conversation.verification import verified
from kernel.domain.cancel import CancelToken
from kernel.domain.chat import ChatBackend
from kernel.domain.settings import Settings
from kernel.domain.turn import Citation, Outcome, PastTurn
from kernel.domain.turn_events import Done, Failed, Shown, TurnEvent
from kernel.errors import Cancelled, KernelError, StorageError

logger = logging.getLogger(__name__)

_SHOWN = get_args(Shown)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a turn is given to work with."""

    place: Place
    choice: Choice
    models: ChatModels
    settings: Settings
    past: Sequence[PastTurn]
    cancel: CancelToken


class Talk:
    """A turn under way; to be used in a ``with``, and run through once.

    What it yields has been written down before. After the last event, which is always Done, the
    history is in place and the conversation free for its next turn. Leaving the block early counts
    as a stop.
    """

    def __init__(
        self,
        notebook: Notebook,
        circumstances: Circumstances,
        bookkeeping: Bookkeeping,
        leave: Callable[[], None],
    ) -> None:
        self._notebook = notebook
        self._given = circumstances
        self._bookkeeping = bookkeeping
        self._leave = leave
        self._inquiry: Inquiry | None = None
        self._summaries: dict[int, str] = {}
        self._finished = False
        self._held = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._finished:
            self._finish(Outcome.STOPPED)

    def events(self) -> Iterator[Shown]:
        """Everything that a person is shown, in order."""
        outcome = Outcome.DONE
        try:
            for event in self._work():
                self._notebook.note(event)
                if isinstance(event, _SHOWN):
                    yield event
        except Cancelled:
            outcome = Outcome.STOPPED
        except KernelError as error:
            outcome = Outcome.STOPPED if self._given.cancel.cancelled else Outcome.FAILED
            logger.info("a turn ended: %s: %s", error.code, error)
            if outcome is Outcome.FAILED:
                yield self._failed(error)
        done, trouble = self._finish(outcome)
        if trouble:
            yield trouble
        yield done

    def _failed(self, error: KernelError) -> Failed:
        failed = Failed(error.code, str(error))
        self._notebook.note(failed)
        return failed

    def _work(self) -> Iterator[TurnEvent]:
        try:
            backend = self._held.enter_context(self._given.models.lend(self._given.choice))
            memory = yield from self._memory(backend)
            self._summaries = memory.summaries
            self._inquiry = self._asked(backend, memory)
            yield from self._inquiry.events()
        except KernelError:
            raise
        except Exception as error:
            # A bug must not cost the person what was shown, nor leave a window waiting.
            logger.exception("a turn failed unexpectedly")
            raise KernelError("the conversation failed unexpectedly; the log says why") from error

    def _memory(self, backend: ChatBackend) -> Generator[TurnEvent, None, Memory]:
        settings, cancel = self._given.settings, self._given.cancel
        if cancel.cancelled:
            raise Cancelled("the conversation was stopped")
        summarizer = Summarizer(backend, cancel) if settings.summarize_history else None
        return (yield from recalled(self._given.past, settings.history_length, summarizer))

    def _asked(self, backend: ChatBackend, memory: Memory) -> Inquiry:
        given = self._given
        window = given.choice.context_tokens or backend.context_tokens
        return Inquiry(
            self._notebook.fold.asking.query,
            backend=backend,
            retriever=Retriever(given.place, given.settings.search_limit, given.cancel),
            past=memory.messages,
            budget=budget_for(window, backend.count_tokens),
            rounds=given.settings.max_rounds,
            cancel=given.cancel,
        )

    def _finish(self, outcome: Outcome) -> tuple[Done, Failed | None]:
        """Settle everything; what cannot be settled now stays in the journal for a later start."""
        self._finished = True
        fold = self._notebook.fold
        settled, trouble = False, None
        try:
            for event in self._bookkeeping.missing_count(fold):
                self._notebook.note(event)
            done = Done(outcome, self._citations(), self._masked, fold.spent)
            self._notebook.note(done)
            self._bookkeeping.settle(fold.turn(), self._summaries)
            settled = True
        except StorageError as error:
            logger.warning("a turn waits in its journal: %s", error)
            done = Done(outcome, masked=self._masked, spent=fold.spent)
            trouble = Failed(error.code, str(error))
        finally:
            self._notebook.close(settled=settled)
            self._held.close()
            self._leave()
        return done, trouble

    @property
    def _masked(self) -> int:
        return self._inquiry.masked if self._inquiry else 0

    def _citations(self) -> tuple[Citation, ...]:
        earlier = [excerpt for turn in self._given.past for excerpt in turn.results]
        fold = self._notebook.fold
        return verified(fold.answer, [*earlier, *fold.results], self._given.place.root)
