"""The loop: ask the model, search for what it wants, ask again, until it answers.

A turn that has nothing to go by begins with a round that searches for the question itself: that
costs no request, and a model that never searches still has something to read. Where earlier turns
are given, the model alone decides.
"""

import secrets
from collections.abc import Generator, Iterator
from dataclasses import replace

from kernel.conversation.budget import Budget, shortened
from kernel.conversation.exchange import Exchange, Reply
from kernel.conversation.prompts import numbered
from kernel.conversation.rendering import Readable, Rendered, Step, Story, rendered
from kernel.conversation.reply_reader import ReplyReader, Wish
from kernel.conversation.retrieving import Findings, Retriever
from kernel.conversation.surroundings import Placed
from kernel.conversation.tool_calls import SEARCH_TOOL
from kernel.domain.cancel import CancelToken
from kernel.domain.chat import ChatBackend, ChatMessage, ChatRequest
from kernel.domain.turn_events import (
    Annotated,
    AnswerPart,
    RetrievalDone,
    Retrieved,
    Searched,
    TurnEvent,
)
from kernel.errors import Cancelled, ContextTooLong, NetworkError, ToolsRefused
from kernel.masking.masker import mask_secrets

OWN_PURPOSE = "Looking for what the question names"
_PARAGRAPH = "\n\n"


class Inquiry:
    """One question being answered; ``masked`` counts the secrets kept back in the last request."""

    def __init__(  # noqa: PLR0913 - what a turn consists of
        self,
        query: str,
        *,
        backend: ChatBackend,
        retriever: Retriever,
        past: tuple[ChatMessage, ...],
        budget: Budget,
        rounds: int,
        cancel: CancelToken,
    ) -> None:
        self._story = Story(f"files-{secrets.token_hex(3)}", query, past)
        self._backend = backend
        self._retriever = retriever
        self._budget = budget
        self._rounds_left = rounds
        self._cancel = cancel
        self._tools = backend.calls_tools
        self._answered = False
        self.masked = 0

    def events(self) -> Iterator[TurnEvent]:
        """Everything that happens until the answer is complete; raises what went wrong."""
        if not self._story.past and self._rounds_left:
            wish = Wish((self._story.query,), OWN_PURPOSE)
            yield from self._round(wish, Step((self._story.query,), (), ours=True))
        while True:
            may_search = self._rounds_left > 0
            reply = yield from self._asked(may_search=may_search)
            if reply.wish is None or not may_search:
                break
            queries = self._retriever.unasked(reply.wish.queries)
            if not queries:
                self._rounds_left = 0  # it goes in circles, or wants nothing that can be read
                self._remember(Step((), (), reply.shown))
                continue
            step = Step(queries, (), reply.shown, reply.calls)
            yield from self._round(Wish(queries, reply.wish.purpose), step)
        if not self._answered:
            raise NetworkError(_no_answer(self._backend.model_name, reply.finish))

    def _round(self, wish: Wish, step: Step) -> Iterator[TurnEvent]:
        """Show the searches, then what they found."""
        self._stop_if_cancelled()
        number = len(self._story.steps) + 1
        yield Annotated(wish.purpose or f"Retrieving information: {number}")
        findings = self._retriever.find(wish.queries)
        for query, found in findings.by_query:
            yield Searched(query)
            for each in found:
                yield Retrieved(each.excerpt)
        yield RetrievalDone()
        self._remember(replace(step, found=_readable(findings), note=findings.note))
        # A round that found nothing new was one too many, except for our own.
        self._rounds_left = self._rounds_left - 1 if findings.anything or step.ours else 0

    def _remember(self, step: Step) -> None:
        self._story = replace(self._story, steps=(*self._story.steps, step))

    def _asked(self, *, may_search: bool) -> Generator[TurnEvent, None, Reply]:
        """One reply; what the endpoint refuses is mended once each and asked again."""
        was_shortened = False
        while True:
            self._stop_if_cancelled()
            tools = self._tools and may_search
            story = rendered(self._story, self._budget, tools=tools, may_search=may_search)
            self.masked = max(self.masked, story.masked)
            try:
                return (yield from self._exchanged(story, tools=tools, may_search=may_search))
            except ToolsRefused:
                if not tools:
                    raise
                self._tools = False
            except ContextTooLong:
                if was_shortened:
                    raise
                was_shortened = True
                sent = [each.content for each in story.messages]
                self._budget = shortened(self._budget, sent, self._backend.context_tokens)

    def _exchanged(
        self, story: Rendered, *, tools: bool, may_search: bool
    ) -> Generator[TurnEvent, None, Reply]:
        request = ChatRequest(story.messages, tools=(SEARCH_TOOL,) if tools else ())
        reader = ReplyReader(may_search=may_search)
        exchange = Exchange(self._backend, request, reader, self._cancel)
        events = exchange.events()
        begun = False
        while True:
            try:
                event = next(events)
            except StopIteration as end:
                reply: Reply = end.value
                return reply
            if isinstance(event, AnswerPart):
                if self._answered and not begun:
                    yield AnswerPart(_PARAGRAPH)  # after what an earlier reply began to answer
                self._answered = begun = True
            yield event

    def _stop_if_cancelled(self) -> None:
        if self._cancel.cancelled:
            raise Cancelled("the conversation was stopped")


def _readable(findings: Findings) -> tuple[Readable, ...]:
    return tuple(_numbered(each) for _, found in findings.by_query for each in found)


def _numbered(found: Placed) -> Readable:
    excerpt = found.excerpt
    safe = mask_secrets(excerpt.content)
    return Readable(
        numbered(excerpt.path, excerpt.begin_line + 1, safe.text, found.place), safe.count
    )


def _no_answer(model_name: str, finish: str) -> str:
    if finish == "length":
        return (
            f"The model {model_name} used up its tokens before it wrote an answer."
            " Ask a narrower question, or choose a model with a larger limit."
        )
    return (
        f"The model {model_name} ended without an answer. Ask again, or choose another model"
        " in the settings."
    )
