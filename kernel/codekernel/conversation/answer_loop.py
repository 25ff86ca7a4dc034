"""The loop of a question.

Call the model, run the searches it asks for, call it again, until it answers. A first turn
starts with a search for the question itself, which costs no model call; after earlier turns the
model alone decides.
"""

import secrets
from collections.abc import Generator, Iterator
from dataclasses import replace

from codekernel.conversation.prompt_builder import (
    PromptExcerpt,
    PromptRound,
    PromptState,
    RenderedPrompt,
    format_numbered_excerpt,
    render_prompt,
)
from codekernel.conversation.retriever import LocatedExcerpt, Retriever, RoundResults
from codekernel.domain.chat import ChatBackend, ChatMessage, ChatRequest
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.turn_events import (
    AnswerDelta,
    ExcerptRetrieved,
    RetrievalAnnotated,
    RetrievalDone,
    SearchIssued,
    TurnEvent,
)
from codekernel.errors import Cancelled, ContextTooLong, NetworkError, ToolsRefused
from codekernel.loop.model_call import ModelCall, ParsedReply
from codekernel.loop.search_tool import SEARCH_TOOL, ReplyParser, SearchCall
from codekernel.loop.token_budget import TokenBudget, shrink_token_budget
from codekernel.masking.masker import mask_secrets

INITIAL_SEARCH_PURPOSE = "Looking for what the question names"

_PARAGRAPH = "\n\n"


class AnswerLoop:
    """One question being answered; ``masked`` counts the secrets kept back in the last request."""

    def __init__(  # noqa: PLR0913 - what a turn consists of
        self,
        query: str,
        *,
        backend: ChatBackend,
        retriever: Retriever,
        past: tuple[ChatMessage, ...],
        budget: TokenBudget,
        max_rounds: int,
        cancel: CancelToken,
    ) -> None:
        self._prompt_state = PromptState(f"files-{secrets.token_hex(3)}", query, past)
        self._backend = backend
        self._retriever = retriever
        self._budget = budget
        self._rounds_left = max_rounds
        self._cancel = cancel
        self._uses_native_tools = backend.supports_tools
        self._has_answered = False
        self.masked_count = 0

    def run(self) -> Iterator[TurnEvent]:
        """Everything that happens until the answer is complete; raises what went wrong."""
        if not self._prompt_state.past_messages and self._rounds_left:
            wish = SearchCall((self._prompt_state.query,), INITIAL_SEARCH_PURPOSE)
            yield from self._run_round(
                wish, PromptRound((self._prompt_state.query,), (), is_initial=True)
            )
        while True:
            may_search = self._rounds_left > 0
            reply = yield from self._request_reply(may_search=may_search)
            if reply.search_call is None or not may_search:
                break
            queries = self._retriever.filter_new_queries(reply.search_call.queries)
            if not queries:
                self._rounds_left = 0  # it goes in circles, or wants nothing that can be read
                self._append_round(PromptRound((), (), reply.shown_text))
                continue
            step = PromptRound(queries, (), reply.shown_text, reply.tool_calls)
            yield from self._run_round(SearchCall(queries, reply.search_call.purpose), step)
        if not self._has_answered:
            raise NetworkError(_explain_no_answer(self._backend.model_name, reply.finish_reason))

    def _run_round(self, search_call: SearchCall, step: PromptRound) -> Iterator[TurnEvent]:
        """Show the searches, then what they found."""
        self._raise_if_cancelled()
        number = len(self._prompt_state.rounds) + 1
        yield RetrievalAnnotated(search_call.purpose or f"Retrieving information: {number}")
        findings = self._retriever.retrieve(search_call.queries)
        for query, found in findings.by_query:
            yield SearchIssued(query)
            for each in found:
                yield ExcerptRetrieved(each.excerpt)
        yield RetrievalDone()
        self._append_round(replace(step, excerpts=_render_results(findings), note=findings.note))
        # A round that found nothing new was one too many, except for our own.
        self._rounds_left = (
            self._rounds_left - 1 if findings.has_new_results or step.is_initial else 0
        )

    def _append_round(self, step: PromptRound) -> None:
        self._prompt_state = replace(self._prompt_state, rounds=(*self._prompt_state.rounds, step))

    def _request_reply(self, *, may_search: bool) -> Generator[TurnEvent, None, ParsedReply]:
        """One reply; what the endpoint refuses is mended once each and asked again."""
        was_shortened = False
        while True:
            self._raise_if_cancelled()
            tools = self._uses_native_tools and may_search
            story = render_prompt(
                self._prompt_state, self._budget, tools=tools, may_search=may_search
            )
            self.masked_count = max(self.masked_count, story.masked_count)
            try:
                return (yield from self._stream_reply(story, tools=tools, may_search=may_search))
            except ToolsRefused:
                if not tools:
                    raise
                self._uses_native_tools = False
            except ContextTooLong:
                if was_shortened:
                    raise
                was_shortened = True
                sent = [each.content for each in story.messages]
                self._budget = shrink_token_budget(self._budget, sent, self._backend.context_tokens)

    def _stream_reply(
        self, story: RenderedPrompt, *, tools: bool, may_search: bool
    ) -> Generator[TurnEvent, None, ParsedReply]:
        request = ChatRequest(story.messages, tools=(SEARCH_TOOL,) if tools else ())
        reader = ReplyParser(may_search=may_search)
        exchange = ModelCall(self._backend, request, reader, self._cancel)
        events = exchange.run()
        begun = False
        while True:
            try:
                event = next(events)
            except StopIteration as end:
                reply: ParsedReply = end.value
                return reply
            if isinstance(event, AnswerDelta):
                if self._has_answered and not begun:
                    yield AnswerDelta(_PARAGRAPH)  # after what an earlier reply began to answer
                self._has_answered = begun = True
            yield event

    def _raise_if_cancelled(self) -> None:
        if self._cancel.is_cancelled:
            raise Cancelled("the conversation was stopped")


def _render_results(findings: RoundResults) -> tuple[PromptExcerpt, ...]:
    return tuple(_render_excerpt(each) for _, found in findings.by_query for each in found)


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
