"""One call of a chat model as events: what was sent and received, the parsed text, the tokens used.

The tokens are reported also when the call fails.
"""

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from codekernel.domain.chat import (
    ChatBackend,
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
from codekernel.domain.turn_events import ModelRequestSent, ModelTextReceived, TokensCounted
from codekernel.errors import Cancelled, KernelError
from codekernel.loop.text_tool_parser import TextBlockKind, TextBlockPiece

PARAGRAPH_BREAK = "\n\n"

UsageEvent = ModelRequestSent | ModelTextReceived | TokensCounted

ShownDelta = TextDelta | ReasoningDelta

ModelCallEvent = UsageEvent | ShownDelta


class ReplyParser(Protocol):
    """Splits the text of a reply into blocks while it streams."""

    @property
    def is_over(self) -> bool:
        """Whether to end the stream, because the model only invents the rest."""

    def feed(self, text: str) -> Iterable[TextBlockPiece]:
        """Parse the next piece of the text."""

    def end(self, *, has_calls: bool) -> Iterable[TextBlockPiece]:
        """Return what was held back; ``has_calls`` if the model has called tools natively."""


@dataclass(slots=True)
class ModelReply:
    """What the model wrote: the text that was shown, without thinking, and its tool calls."""

    text: str = ""
    calls: tuple[ChatToolCall, ...] = ()
    finish_reason: str = ""


@dataclass(slots=True)
class RequestMeter:
    """Reports of a request only what was added to the previous one, whose tokens were counted.

    The requests of an agent repeat all that was sent before, which would fill its journal.
    """

    _messages: tuple[ChatMessage, ...] = ()
    _tokens: int = 0

    def describe_request(self, request: ChatRequest) -> ModelRequestSent:
        """Return the event of a request."""
        messages, length = request.messages, len(self._messages)
        if not length or messages[:length] != self._messages:
            return ModelRequestSent("\n".join(message.content for message in messages))
        added = (each.content for each in messages[length:] if each.role is not Role.ASSISTANT)
        return ModelRequestSent("\n".join(added), self._tokens)

    def record_usage(self, request: ChatRequest, usage: TokenUsage) -> None:
        """Remember a request and what it has cost."""
        if usage.input_tokens:
            self._messages = request.messages
            self._tokens = usage.input_tokens + usage.output_tokens


@dataclass(slots=True)
class ModelCall:
    """One request; ``run`` is called once, and to its end."""

    backend: ChatBackend
    request: ChatRequest
    parser: ReplyParser
    cancel: CancelToken
    meter: RequestMeter = field(default_factory=RequestMeter)
    _text_parts: list[str] = field(default_factory=list)
    _native_calls: tuple[ChatToolCall, ...] = ()
    _text_calls: tuple[ChatToolCall, ...] = ()
    _finish_reason: str = ""
    _last_block: dict[TextBlockKind, int] = field(default_factory=dict)

    def run(self) -> Generator[ModelCallEvent, None, ModelReply]:
        """Stream the events and return the reply. Raises what the backend raises."""
        yield self.meter.describe_request(self.request)
        usage: TokenUsage | None = None
        try:
            for event in self._stream():
                yield event
                usage = event.spent if isinstance(event, TokensCounted) else usage
        except KernelError as error:
            if usage is None:  # the request has not reached the model
                yield TokensCounted(TokenUsage())
            is_complete = self.parser.is_over and not self.cancel.is_cancelled
            if not (isinstance(error, Cancelled) and is_complete):
                raise
        finally:
            self.meter.record_usage(self.request, usage or TokenUsage())
        yield from self._read_pieces(self.parser.end(has_calls=bool(self._native_calls)))
        calls = self._native_calls or self._text_calls
        return ModelReply("".join(self._text_parts), calls, self._finish_reason)

    def _stream(self) -> Iterator[ModelCallEvent]:
        enough = self.cancel.create_child()
        for event in self.backend.stream(self.request, enough):
            match event:
                case TextDelta(text):
                    yield ModelTextReceived(text)
                    yield from self._read_pieces(self.parser.feed(text))
                    if self.parser.is_over:
                        enough.cancel()
                case ReasoningDelta(text):
                    yield ModelTextReceived(text)
                    yield event
                case ChatToolCalls(calls):
                    self._native_calls = calls
                    written = (f"{call.name} {call.arguments}" for call in calls)
                    yield ModelTextReceived(" ".join(written))
                case ChatFinished(reason):
                    self._finish_reason = reason
                case TokensUsed(read, written_tokens, exact):
                    yield TokensCounted(TokenUsage(read, written_tokens, exact))

    def _read_pieces(self, pieces: Iterable[TextBlockPiece]) -> Iterator[ShownDelta]:
        for piece in pieces:
            if piece.kind is TextBlockKind.CALL:
                self._text_calls += (ChatToolCall("", piece.name, piece.text),)
                continue
            is_apart = self._last_block.get(piece.kind, piece.number) != piece.number
            self._last_block[piece.kind] = piece.number
            text = f"{PARAGRAPH_BREAK if is_apart else ''}{piece.text}"
            if piece.kind is TextBlockKind.THINKING:
                yield ReasoningDelta(text)
            elif piece.kind is TextBlockKind.TEXT:
                self._text_parts.append(text)
                yield TextDelta(text)
