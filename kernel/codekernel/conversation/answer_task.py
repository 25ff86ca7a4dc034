"""The task of a question for the loop: its prompt, its search tool, and when it is answered.

A first turn starts with a search for the question itself, which costs no model call; after earlier
turns the model alone decides.
"""

import secrets
from collections.abc import Generator, Iterator
from dataclasses import replace

from codekernel.conversation.prompt_builder import (
    PromptExcerpt,
    PromptRound,
    PromptState,
    format_numbered_excerpt,
    render_prompt,
)
from codekernel.conversation.retriever import LocatedExcerpt, Retriever
from codekernel.domain.chat import ChatMessage, ChatRequest
from codekernel.domain.turn_events import (
    AnswerDelta,
    ExcerptRetrieved,
    RetrievalAnnotated,
    RetrievalDone,
    SearchIssued,
    TurnEvent,
)
from codekernel.errors import NetworkError
from codekernel.loop.model_call import PARAGRAPH_BREAK, ModelReply
from codekernel.loop.search_tool import SEARCH_TOOL, SearchCall, SearchReplyParser
from codekernel.loop.token_budget import TokenBudget
from codekernel.masking.masker import mask_secrets

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
        """Search for the question, unless there are earlier turns."""
        query = self._prompt_state.query
        if not self._prompt_state.past_messages and self._rounds_left:
            search = SearchCall((query,), INITIAL_SEARCH_PURPOSE)
            yield from self._run_round(search, PromptRound((query,), (), is_initial=True))

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
            yield AnswerDelta(PARAGRAPH_BREAK)
        self._has_answered = self._has_reply_begun = True
        yield AnswerDelta(text)

    def show_thinking(self, text: str) -> Iterator[TurnEvent]:  # noqa: ARG002 - LoopTask
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
        yield RetrievalAnnotated(search.purpose or f"Retrieving information: {number}")
        results = self._retriever.retrieve(search.queries)
        for query, found in results.by_query:
            yield SearchIssued(query)
            for each in found:
                yield ExcerptRetrieved(each.excerpt)
        yield RetrievalDone()
        excerpts = tuple(_render_excerpt(each) for _, found in results.by_query for each in found)
        self._append_round(replace(step, excerpts=excerpts, note=results.note))
        # A round without new results was one too many, except for the initial one.
        self._rounds_left = (
            self._rounds_left - 1 if results.has_new_results or step.is_initial else 0
        )

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
