"""A running turn, from the accepted question to its entry in the history.

The base class with journal, errors and cancellation, and the turn that answers a question, with its
task for the loop. The turn of an agent is in the package agent.
"""

import logging
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Generic, Self, TypeVar, get_args

from codekernel.conversation.citations import verify_citations
from codekernel.conversation.history import UnsavedTurn
from codekernel.conversation.prompt_builder import (
    PromptExcerpt,
    PromptRound,
    PromptState,
    TurnSummarizer,
    format_numbered_excerpt,
    render_prompt,
    select_past_turns,
)
from codekernel.conversation.repository_access import RepositoryAccess
from codekernel.conversation.retriever import LocatedExcerpt, Retriever, find_mentions
from codekernel.conversation.turn_store import TurnJournal, TurnStore
from codekernel.domain import turn_events as events
from codekernel.domain.chat import ChatBackend, ChatMessage, ChatRequest
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import Settings
from codekernel.domain.turn import AgentTurnSummary, Citation, PastTurn, TurnOutcome
from codekernel.domain.turn_events import TransientEvent, TurnDone, TurnEvent, TurnFailed
from codekernel.errors import Cancelled, KernelError, NetworkError
from codekernel.llm.model_pool import ChatModelPool, ModelChoice
from codekernel.loop.loop import PARAGRAPH_BREAK, ModelReply, TokenBudget, run_loop
from codekernel.loop.search_tool import SEARCH_TOOL, SearchCall, SearchReplyParser
from codekernel.masking.masker import mask_secrets

logger = logging.getLogger(__name__)

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class AcceptedTurn:
    """What a turn works with; its conversation is locked until ``release`` is called."""

    repository: RepositoryAccess
    model_choice: ModelChoice
    model_pool: ChatModelPool
    settings: Settings
    past_turns: Sequence[PastTurn]
    cancel: CancelToken
    journal: TurnJournal
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
        self._context = accepted
        self._journal = accepted.journal
        self._is_finished = False
        self._resources = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
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
            is_stopped = self._context.cancel.is_cancelled
            outcome = TurnOutcome.STOPPED if is_stopped else TurnOutcome.FAILED
            logger.info("a turn ended: %s: %s", error.code, error)
            if not is_stopped:
                failed = TurnFailed(error.code, str(error))
                self._journal.append(failed)
                yield failed
        yield self._finish(outcome)

    @abstractmethod
    def _run(self, backend: ChatBackend) -> Iterator[TurnEvent | TransientEvent]:
        """Yield the events until the answer is complete; raises what went wrong."""

    @abstractmethod
    def _build_result(self) -> TurnResult:
        """Return what is shown and saved at the end."""

    def _run_guarded(self) -> Iterator[TurnEvent | TransientEvent]:
        if self._context.cancel.is_cancelled:
            raise Cancelled("the conversation was stopped")
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

    def _finish(self, outcome: TurnOutcome) -> TurnDone:
        """Save the turn and release the conversation; ``unsaved`` is what the disk refused."""
        self._is_finished = True
        builder, store = self._journal.builder, self._context.store
        result = self._build_result()
        try:
            for event in builder.estimate_missing_usage(store.count_tokens):
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
            refusal = store.save_or_defer(unsaved)
        finally:
            self._journal.close()
            self._resources.close()
            self._context.release()
        return replace(done, unsaved=refusal)


class RunningQuestionTurn(RunningTurn[events.ReplyEvent]):
    """A question that is being answered."""

    shown_events = get_args(events.ReplyEvent)

    def __init__(self, accepted: AcceptedTurn) -> None:
        super().__init__(accepted)
        self._task: AnswerTask | None = None
        self._summaries: dict[int, str] = {}

    def _run(self, backend: ChatBackend) -> Iterator[TurnEvent | TransientEvent]:
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
        builder, context = self._journal.builder, self._context
        earlier = [excerpt for turn in context.past_turns for excerpt in turn.results]
        citations = verify_citations(
            builder.answer, [*earlier, *builder.results], context.repository.root
        )
        masked = self._task.masked_count if self._task else 0
        return TurnResult(masked, citations, self._summaries)


INITIAL_SEARCH_PURPOSE = "Looking for what the question names"


class AnswerTask:
    """One question; ``masked_count`` are the secrets that were masked in a request, at most."""

    stopped_message = "the conversation was stopped"
    extends_requests = False  # each request is rendered anew

    def __init__(
        self,
        query: str,
        model_name: str,
        retriever: Retriever,
        past: tuple[ChatMessage, ...],
        max_rounds: int,
    ) -> None:
        self._prompt_state = PromptState(f"files-{secrets.token_hex(3)}", query, past)
        self._model_name = model_name
        self._retriever = retriever
        self._rounds_left = max_rounds
        self._parser = SearchReplyParser(may_search=False)
        self._has_answered = self._has_reply_begun = False
        self.masked_count = 0

    def start(self) -> Iterator[TurnEvent]:
        """Search for what the question names, and for itself unless there are earlier turns."""
        query = self._prompt_state.query
        itself = () if self._prompt_state.past_messages else (query,)
        queries = (*find_mentions(query), *itself)
        if queries and self._rounds_left:
            search = SearchCall(queries, INITIAL_SEARCH_PURPOSE)
            yield from self._run_round(search, PromptRound(queries, (), is_initial=True))

    def build_request(self, budget: TokenBudget, *, native_tools: bool) -> ChatRequest:
        """Render the question and its rounds; the search tool is left out after the last one."""
        may_search = self._rounds_left > 0
        tools = native_tools and may_search
        prompt = render_prompt(self._prompt_state, budget, tools=tools, may_search=may_search)
        self.masked_count = max(self.masked_count, prompt.masked_count)
        return ChatRequest(prompt.messages, tools=(SEARCH_TOOL,) if tools else ())

    def make_parser(self, *, native_tools: bool) -> SearchReplyParser:  # noqa: ARG002 - LoopTask
        """Return a parser that also reads a fence where the model could have called the tool."""
        self._parser = SearchReplyParser(may_search=self._rounds_left > 0)
        self._has_reply_begun = False
        return self._parser

    def show_text(self, text: str) -> Iterator[TurnEvent]:
        """The text is the answer; a reply begins a paragraph after that of an earlier one."""
        if self._has_answered and not self._has_reply_begun:
            yield events.AnswerDelta(PARAGRAPH_BREAK)
        self._has_answered = self._has_reply_begun = True
        yield events.AnswerDelta(text)

    def show_thinking(self, _text: str) -> Iterator[TurnEvent]:
        """Thinking is not shown in a conversation."""
        return iter(())

    def handle_reply(
        self, reply: ModelReply, _budget: TokenBudget
    ) -> Generator[TurnEvent, None, bool]:
        """Run the searches of the reply that are new."""
        search = self._parser.build_search_call(reply.calls)
        if search is None or not self._rounds_left:
            if not self._has_answered:
                raise NetworkError(_explain_no_answer(self._model_name, reply.finish_reason))
            return False
        queries = self._retriever.filter_new_queries(search.queries)
        if queries:
            step = PromptRound(queries, (), reply.text, reply.calls)
            yield from self._run_round(SearchCall(queries, search.purpose), step)
        else:  # the model repeats itself, or its queries cannot be read
            self._rounds_left = 0
            self._append_round(PromptRound((), (), reply.text))
        return True

    def _run_round(self, search: SearchCall, step: PromptRound) -> Iterator[TurnEvent]:
        """Show the searches, then what they found."""
        self._retriever.raise_if_cancelled()
        number = len(self._prompt_state.rounds) + 1
        yield events.RetrievalAnnotated(search.purpose or f"Retrieving information: {number}")
        results = self._retriever.retrieve(search.queries)
        for query, found in results.by_query:
            yield events.SearchIssued(query)
            for each in found:
                yield events.ExcerptRetrieved(each.excerpt)
        yield events.RetrievalDone()
        excerpts = tuple(_render_excerpt(each) for _, found in results.by_query for each in found)
        self._append_round(replace(step, excerpts=excerpts, note=results.note))
        # A round without new results was one too many, except for the initial one.
        self._rounds_left = self._rounds_left - 1 if excerpts or step.is_initial else 0

    def _append_round(self, step: PromptRound) -> None:
        self._prompt_state = replace(self._prompt_state, rounds=(*self._prompt_state.rounds, step))


def _render_excerpt(found: LocatedExcerpt) -> PromptExcerpt:
    excerpt = found.excerpt
    safe = mask_secrets(excerpt.content)
    return PromptExcerpt(
        format_numbered_excerpt(excerpt.path, excerpt.begin_line + 1, safe.text, found.location),
        safe.count,
    )


def _explain_no_answer(model_name: str, finish_reason: str) -> str:
    if finish_reason == "length":
        return (
            f"The model {model_name} used up its tokens before it wrote an answer."
            " Ask a narrower question, or choose a model with a larger limit."
        )
    return (
        f"The model {model_name} ended without an answer. Ask again, or choose another model"
        " in the settings."
    )
