"""One request to the model and its reply, as events; what it cost is always among them."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass

from kernel.conversation.reply_reader import ReplyReader, Wish
from kernel.conversation.tool_calls import wish_of_calls
from kernel.domain.cancel import CancelToken
from kernel.domain.chat import (
    ChatBackend,
    ChatRequest,
    Finished,
    ReasoningDelta,
    TextDelta,
    TokensUsed,
    ToolCall,
    ToolCalls,
)
from kernel.domain.turn import Spent
from kernel.domain.turn_events import AnswerPart, Counted, Received, Sent, TurnEvent
from kernel.errors import Cancelled, KernelError


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model wrote: the part that was shown, and what it wants, if it wants anything."""

    shown: str
    wish: Wish | None = None
    calls: tuple[ToolCall, ...] = ()
    finish: str = ""


class Exchange:
    """One request; ``events`` is to be run to its end, and returns the reply."""

    def __init__(
        self, backend: ChatBackend, request: ChatRequest, reader: ReplyReader, cancel: CancelToken
    ) -> None:
        self._backend = backend
        self._request = request
        self._reader = reader
        self._cancel = cancel
        # Cancelled by itself when a search block is complete: what a model invents after it would
        # only cost money.
        self._enough = cancel.child()
        self._shown: list[str] = []
        self._calls: tuple[ToolCall, ...] = ()
        self._finish = ""
        self._counted = False

    def events(self) -> Generator[TurnEvent, None, Reply]:
        """Raises what the backend raises, after the cost is told."""
        yield Sent(text_of(self._request))
        try:
            yield from self._streamed()
        except KernelError as error:
            if not self._counted:  # it never reached the model
                yield Counted(Spent())
            if not isinstance(error, Cancelled) or not self._reader.complete:
                raise
            if self._cancel.cancelled:
                raise
        rest, wish = self._reader.end(called=bool(self._calls))
        if rest:
            yield self._show(rest)
        if self._calls and wish is not None:
            wish = wish_of_calls(self._calls, wish.purpose)
        return Reply("".join(self._shown), wish, self._calls, self._finish)

    def _streamed(self) -> Generator[TurnEvent, None, None]:
        for event in self._backend.stream(self._request, self._enough):
            match event:
                case TextDelta(text):
                    yield Received(text)
                    yield from self._read(text)
                case ReasoningDelta(text):
                    yield Received(text)
                case ToolCalls(calls):
                    self._calls = calls
                    yield Received(" ".join(f"{call.name} {call.arguments}" for call in calls))
                case Finished(reason):
                    self._finish = reason
                case TokensUsed(read, written, exact):
                    self._counted = True
                    yield Counted(Spent(read, written, exact))

    def _read(self, text: str) -> Iterator[AnswerPart]:
        shown = self._reader.feed(text)
        if shown:
            yield self._show(shown)
        if self._reader.complete:
            self._enough.cancel()

    def _show(self, text: str) -> AnswerPart:
        self._shown.append(text)
        return AnswerPart(text)


def text_of(request: ChatRequest) -> str:
    """All that a request gives the model to read."""
    return "\n".join(message.content for message in request.messages)
