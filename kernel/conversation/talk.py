"""A question that is answered: what is remembered of earlier turns, then rounds and an answer."""

from collections.abc import Generator, Iterator
from typing import get_args

from kernel.conversation.budget import budget_for
from kernel.conversation.converse import Inquiry
from kernel.conversation.remembered import Memory, Summarizer, recalled
from kernel.conversation.retrieving import Retriever
from kernel.conversation.under_way import Accepted, Closing, UnderWay
from kernel.conversation.verification import verified
from kernel.domain.chat import ChatBackend
from kernel.domain.turn import Citation
from kernel.domain.turn_events import Fleeting, Told, TurnEvent


class Talk(UnderWay[Told]):
    """A question under way."""

    shown = get_args(Told)

    def __init__(self, accepted: Accepted) -> None:
        super().__init__(accepted)
        self._inquiry: Inquiry | None = None
        self._summaries: dict[int, str] = {}

    def _work(self, backend: ChatBackend) -> Iterator[TurnEvent | Fleeting]:
        memory = yield from self._memory(backend)
        self._summaries = memory.summaries
        self._inquiry = self._asked(backend, memory)
        yield from self._inquiry.events()

    def _closing(self) -> Closing:
        masked = self._inquiry.masked if self._inquiry else 0
        return Closing(masked, self._citations(), self._summaries)

    def _memory(self, backend: ChatBackend) -> Generator[TurnEvent, None, Memory]:
        settings = self._given.settings
        self._stop_if_cancelled()
        summarizer = Summarizer(backend, self._given.cancel) if settings.summarize_history else None
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

    def _citations(self) -> tuple[Citation, ...]:
        earlier = [excerpt for turn in self._given.past for excerpt in turn.results]
        fold = self._notebook.fold
        return verified(fold.answer, [*earlier, *fold.results], self._given.place.root)
