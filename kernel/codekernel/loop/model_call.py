"""One call of a chat model as events.

What was sent, what was received, the text shown, the tool calls, and the tokens used, also when
the call fails.
"""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

from codekernel.domain.chat import (
    ChatBackend,
    ChatEvent,
    ChatFinished,
    ChatMessage,
    ChatRequest,
    ChatToolCall,
    ChatToolCalls,
    ReasoningDelta,
    Role,
    TextDelta,
    TokensUsed,
)
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.turn import TokenUsage
from codekernel.domain.turn_events import (
    AnswerDelta,
    ModelRequestSent,
    ModelTextReceived,
    TokensCounted,
    TurnEvent,
)
from codekernel.errors import Cancelled, KernelError
from codekernel.loop.search_tool import ReplyParser, SearchCall, parse_search_calls


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """What the model wrote: the part that was shown, and what it wants, if it wants anything."""

    shown_text: str
    search_call: SearchCall | None = None
    tool_calls: tuple[ChatToolCall, ...] = ()
    finish_reason: str = ""


class ModelCall:
    """One request; ``events`` is to be run to its end, and returns the reply."""

    def __init__(
        self, backend: ChatBackend, request: ChatRequest, parser: ReplyParser, cancel: CancelToken
    ) -> None:
        self._backend = backend
        self._request = request
        self._parser = parser
        self._cancel = cancel
        # Cancelled by itself when a search block is complete: what a model invents after it would
        # only cost money.
        self._stream_cancel = cancel.create_child()
        self._shown_parts: list[str] = []
        self._tool_calls: tuple[ChatToolCall, ...] = ()
        self._finish_reason = ""
        self._is_counted = False

    def run(self) -> Generator[TurnEvent, None, ParsedReply]:
        """Raises what the backend raises, after the cost is told."""
        yield ModelRequestSent(join_request_text(self._request))
        try:
            yield from self._stream()
        except KernelError as error:
            if not self._is_counted:  # it never reached the model
                yield TokensCounted(TokenUsage())
            if not isinstance(error, Cancelled) or not self._parser.is_complete:
                raise
            if self._cancel.is_cancelled:
                raise
        rest, wish = self._parser.finish(has_tool_calls=bool(self._tool_calls))
        if rest:
            yield self._show(rest)
        if self._tool_calls and wish is not None:
            wish = parse_search_calls(self._tool_calls, wish.purpose)
        return ParsedReply("".join(self._shown_parts), wish, self._tool_calls, self._finish_reason)

    def _stream(self) -> Generator[TurnEvent, None, None]:
        for event in self._backend.stream(self._request, self._stream_cancel):
            match event:
                case TextDelta(text):
                    yield ModelTextReceived(text)
                    yield from self._parse_text(text)
                case ReasoningDelta(text):
                    yield ModelTextReceived(text)
                case ChatToolCalls(calls):
                    self._tool_calls = calls
                    yield ModelTextReceived(
                        " ".join(f"{call.name} {call.arguments}" for call in calls)
                    )
                case ChatFinished(reason):
                    self._finish_reason = reason
                case TokensUsed(read, written, exact):
                    self._is_counted = True
                    yield TokensCounted(TokenUsage(read, written, exact))

    def _parse_text(self, text: str) -> Iterator[AnswerDelta]:
        shown = self._parser.feed(text)
        if shown:
            yield self._show(shown)
        if self._parser.is_complete:
            self._stream_cancel.cancel()

    def _show(self, text: str) -> AnswerDelta:
        self._shown_parts.append(text)
        return AnswerDelta(text)


def join_request_text(request: ChatRequest) -> str:
    """All that a request gives the model to read."""
    return "\n".join(message.content for message in request.messages)


ReportUsage = Callable[[ModelRequestSent | ModelTextReceived | TokensCounted], None]


class MeteredBackend:
    """For one conversation at a time: requests of an agent repeat what was sent before.

    ``tell`` is called on the thread that reads the stream; each Sent is followed by one Counted.
    """

    def __init__(self, backend: ChatBackend, report_usage: ReportUsage) -> None:
        self._backend = backend
        self._report_usage = report_usage
        self._previous_messages: tuple[ChatMessage, ...] = ()
        self._previous_tokens = 0

    @property
    def model_name(self) -> str:
        """The name that usage is recorded under."""
        return self._backend.model_name

    @property
    def supports_tools(self) -> bool:
        """Whether tools may be given."""
        return self._backend.supports_tools

    @property
    def context_tokens(self) -> int | None:
        """How much the model can read and write at once."""
        return self._backend.context_tokens

    def stream(self, request: ChatRequest, cancel: CancelToken) -> Iterator[ChatEvent]:
        """Answer piece by piece, and tell of it."""
        self._report_usage(self._make_sent_event(request))
        spent = TokenUsage()
        try:
            for event in self._backend.stream(request, cancel):
                match event:
                    case TextDelta(text) | ReasoningDelta(text):
                        self._report_usage(ModelTextReceived(text))
                    case ChatToolCalls(calls):
                        written = " ".join(f"{call.name} {call.arguments}" for call in calls)
                        self._report_usage(ModelTextReceived(written))
                    case TokensUsed(read, wrote, exact):
                        spent = TokenUsage(read, wrote, exact)
                yield event
        finally:
            if spent.input_tokens:
                self._previous_messages = request.messages
                self._previous_tokens = spent.input_tokens + spent.output_tokens
            self._report_usage(TokensCounted(spent))

    def count_tokens(self, text: str) -> int:
        """Tokens of a text."""
        return self._backend.count_tokens(text)

    def close(self) -> None:
        """Nothing: whoever lent the model closes it."""

    def _make_sent_event(self, request: ChatRequest) -> ModelRequestSent:
        """All that is sent, or what was added to the last request, whose cost is known."""
        messages, length = request.messages, len(self._previous_messages)
        if not length or messages[:length] != self._previous_messages:
            return ModelRequestSent("\n".join(message.content for message in messages))
        added = (each.content for each in messages[length:] if each.role is not Role.ASSISTANT)
        return ModelRequestSent("\n".join(added), self._previous_tokens)
