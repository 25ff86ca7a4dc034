"""A turn from its question to its place in the history; whatever happens, it gets there.

What happens in between is a subclass's matter: a question that is answered (``talk.py``), or an
agent at work (``agent/conversing.py``).
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Generic, Self, TypeVar

from kernel.conversation.bookkeeping import Bookkeeping
from kernel.conversation.history import Notebook
from kernel.conversation.models import ChatModels, Choice
from kernel.conversation.place import Place
from kernel.conversation.unsaved import UnsavedTurn
from kernel.domain.cancel import CancelToken
from kernel.domain.chat import ChatBackend
from kernel.domain.settings import Settings
from kernel.domain.turn import Citation, Outcome, PastTurn, Worked
from kernel.domain.turn_events import Done, Failed, Fleeting, TurnEvent
from kernel.errors import Cancelled, KernelError

logger = logging.getLogger(__name__)

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a turn is given to work with."""

    place: Place
    choice: Choice
    models: ChatModels
    settings: Settings
    past: Sequence[PastTurn]
    cancel: CancelToken


@dataclass(frozen=True, slots=True)
class Accepted:
    """A question that has its conversation to itself, until ``leave`` is called."""

    notebook: Notebook
    given: Circumstances
    bookkeeping: Bookkeeping
    leave: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Closing:
    """What is told and kept at the end of a turn, whatever its outcome."""

    masked: int = 0
    citations: tuple[Citation, ...] = ()
    summaries: Mapping[int, str] = field(default_factory=dict)
    worked: Worked | None = None


class UnderWay(ABC, Generic[Part]):
    """A turn under way; to be used in a ``with``, and run through once.

    What it yields has been written down before. After the last event, which is always Done, the
    history is in place, or in memory, and the conversation free for its next turn. Leaving the
    block early counts as a stop.
    """

    # The events that a person is shown.
    shown: tuple[type[Part], ...]

    def __init__(self, accepted: Accepted) -> None:
        self._notebook = accepted.notebook
        self._given = accepted.given
        self._bookkeeping = accepted.bookkeeping
        self._leave = accepted.leave
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

    def events(self) -> Iterator[Part | Failed | Done]:
        """Everything that a person is shown, in order."""
        outcome = Outcome.DONE
        try:
            for event in self._watched():
                if not isinstance(event, Fleeting):
                    self._notebook.note(event)
                if isinstance(event, self.shown):
                    yield event
        except Cancelled:
            outcome = Outcome.STOPPED
        except KernelError as error:
            outcome = Outcome.STOPPED if self._given.cancel.cancelled else Outcome.FAILED
            logger.info("a turn ended: %s: %s", error.code, error)
            if outcome is Outcome.FAILED:
                yield self._failed(error)
        yield self._finish(outcome)

    @abstractmethod
    def _work(self, backend: ChatBackend) -> Iterator[TurnEvent | Fleeting]:
        """What happens until the answer is complete; raises what went wrong."""

    @abstractmethod
    def _closing(self) -> Closing:
        """What there is to tell at the end."""

    def _failed(self, error: KernelError) -> Failed:
        failed = Failed(error.code, str(error))
        self._notebook.note(failed)
        return failed

    def _watched(self) -> Iterator[TurnEvent | Fleeting]:
        try:
            backend = self._held.enter_context(self._given.models.lend(self._given.choice))
            yield from self._work(backend)
        except KernelError:
            raise
        except Exception as error:
            # A bug must not cost the person what was shown, nor leave a window waiting.
            logger.exception("a turn failed unexpectedly")
            raise KernelError("the conversation failed unexpectedly; the log says why") from error

    def _stop_if_cancelled(self) -> None:
        if self._given.cancel.cancelled:
            raise Cancelled("the conversation was stopped")

    def _finish(self, outcome: Outcome) -> Done:
        """Settle everything; what no disk takes now stays in memory, and ``unsaved`` says so."""
        self._finished = True
        fold = self._notebook.fold
        closing = self._closing()
        try:
            for event in self._bookkeeping.missing_count(fold):
                self._notebook.note(event)
            done = Done(outcome, closing.citations, closing.masked, fold.spent, closing.worked)
            self._notebook.note(done)
            kept = UnsavedTurn(fold.turn(), dict(closing.summaries), self._notebook.path)
            refusal = self._bookkeeping.keep(kept)
        finally:
            self._notebook.close()
            self._held.close()
            self._leave()
        return replace(done, unsaved=refusal)
