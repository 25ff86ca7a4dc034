"""A running turn, from the accepted question to its entry in the history.

The base class with journal, errors and cancellation, and the turn that answers a question. The
turn of an agent is in the package agent.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Generic, Self, TypeVar, get_args

from codekernel.conversation.answer_task import AnswerTask
from codekernel.conversation.citations import verify_citations
from codekernel.conversation.history import TurnJournal, UnsavedTurn
from codekernel.conversation.prompt_builder import TurnSummarizer, select_past_turns
from codekernel.conversation.retriever import RepositoryAccess, Retriever
from codekernel.conversation.turn_store import TurnStore
from codekernel.domain.chat import ChatBackend
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import Settings
from codekernel.domain.turn import AgentTurnSummary, Citation, PastTurn, TurnOutcome
from codekernel.domain.turn_events import (
    ReplyEvent,
    TransientEvent,
    TurnDone,
    TurnEvent,
    TurnFailed,
)
from codekernel.errors import Cancelled, KernelError
from codekernel.llm.model_pool import ChatModelPool, ModelChoice
from codekernel.loop.loop import run_loop

logger = logging.getLogger(__name__)

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class TurnContext:
    """What a turn works with."""

    repository: RepositoryAccess
    model_choice: ModelChoice
    model_pool: ChatModelPool
    settings: Settings
    past_turns: Sequence[PastTurn]
    cancel: CancelToken


@dataclass(frozen=True, slots=True)
class AcceptedTurn:
    """A question whose conversation is locked until ``release`` is called."""

    journal: TurnJournal
    context: TurnContext
    store: TurnStore
    release: Callable[[], None]


@dataclass(frozen=True, slots=True)
class TurnResult:
    """What is shown and saved at the end of a turn, whatever its outcome."""

    masked_count: int = 0
    citations: tuple[Citation, ...] = ()
    summaries: Mapping[int, str] = field(default_factory=dict)
    agent_summary: AgentTurnSummary | None = None


class RunningTurn(ABC, Generic[Part]):
    """A running turn; a context manager whose events are streamed once.

    Events are in the journal before they are yielded. After the last event, which is always
    TurnDone, the history is on disk or in memory and the conversation is unlocked. Leaving the
    block early counts as a stop.
    """

    # The events that are shown.
    shown_events: tuple[type[Part], ...]

    def __init__(self, accepted: AcceptedTurn) -> None:
        self._journal = accepted.journal
        self._context = accepted.context
        self._store = accepted.store
        self._release = accepted.release
        self._is_finished = False
        self._resources = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._is_finished:
            self._finish(TurnOutcome.STOPPED)

    def stream_events(self) -> Iterator[Part | TurnFailed | TurnDone]:
        """Yield everything that is shown, in order."""
        outcome = TurnOutcome.DONE
        try:
            for event in self._run_guarded():
                if not isinstance(event, TransientEvent):
                    self._journal.append(event)
                if isinstance(event, self.shown_events):
                    yield event
        except Cancelled:
            outcome = TurnOutcome.STOPPED
        except KernelError as error:
            outcome = (
                TurnOutcome.STOPPED if self._context.cancel.is_cancelled else TurnOutcome.FAILED
            )
            logger.info("a turn ended: %s: %s", error.code, error)
            if outcome is TurnOutcome.FAILED:
                yield self._record_failure(error)
        yield self._finish(outcome)

    @abstractmethod
    def _run(self, backend: ChatBackend) -> Iterator[TurnEvent | TransientEvent]:
        """Yield the events until the answer is complete; raises what went wrong."""

    @abstractmethod
    def _build_result(self) -> TurnResult:
        """Return what is shown and saved at the end."""

    def _record_failure(self, error: KernelError) -> TurnFailed:
        failed = TurnFailed(error.code, str(error))
        self._journal.append(failed)
        return failed

    def _run_guarded(self) -> Iterator[TurnEvent | TransientEvent]:
        try:
            backend = self._resources.enter_context(
                self._context.model_pool.acquire(self._context.model_choice)
            )
            yield from self._run(backend)
        except KernelError:
            raise
        except Exception as error:
            # A bug must not lose what was shown, nor leave a window waiting.
            logger.exception("a turn failed unexpectedly")
            raise KernelError("the conversation failed unexpectedly; the log says why") from error

    def _raise_if_cancelled(self) -> None:
        if self._context.cancel.is_cancelled:
            raise Cancelled("the conversation was stopped")

    def _finish(self, outcome: TurnOutcome) -> TurnDone:
        """Save the turn and release the conversation; ``unsaved`` is what the disk refused."""
        self._is_finished = True
        builder = self._journal.builder
        result = self._build_result()
        try:
            for event in self._store.estimate_missing_usage(builder):
                self._journal.append(event)
            done = TurnDone(
                outcome,
                result.citations,
                result.masked_count,
                builder.token_usage,
                result.agent_summary,
            )
            self._journal.append(done)
            unsaved = UnsavedTurn(builder.build(), dict(result.summaries), self._journal.path)
            refusal = self._store.save_or_defer(unsaved)
        finally:
            self._journal.close()
            self._resources.close()
            self._release()
        return replace(done, unsaved=refusal)


class RunningQuestionTurn(RunningTurn[ReplyEvent]):
    """A question that is being answered."""

    shown_events = get_args(ReplyEvent)

    def __init__(self, accepted: AcceptedTurn) -> None:
        super().__init__(accepted)
        self._task: AnswerTask | None = None
        self._summaries: dict[int, str] = {}

    def _run(self, backend: ChatBackend) -> Iterator[TurnEvent | TransientEvent]:
        self._raise_if_cancelled()
        context, settings = self._context, self._context.settings
        summarizer = TurnSummarizer(backend, context.cancel) if settings.summarize_history else None
        past = yield from select_past_turns(context.past_turns, settings.history_length, summarizer)
        self._summaries = past.summaries
        self._task = AnswerTask(
            self._journal.builder.request.query,
            backend.model_name,
            Retriever(context.repository, settings.search_limit, context.cancel),
            past.messages,
            settings.max_rounds,
        )
        yield from run_loop(
            self._task, backend, context.cancel, context.model_choice.context_tokens
        )

    def _build_result(self) -> TurnResult:
        masked = self._task.masked_count if self._task else 0
        return TurnResult(masked, self._verify_citations(), self._summaries)

    def _verify_citations(self) -> tuple[Citation, ...]:
        earlier = [excerpt for turn in self._context.past_turns for excerpt in turn.results]
        builder = self._journal.builder
        return verify_citations(
            builder.answer, [*earlier, *builder.results], self._context.repository.root
        )
