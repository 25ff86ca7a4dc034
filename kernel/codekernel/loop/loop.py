"""The loop of conversations and of the agent.

Call the model, let the task run the tool calls of its reply, and repeat until it has answered. Each
call is reported as events: what was sent and received, the parsed text, and the tokens used, also
when the call fails. The budget of tokens limits what a request holds.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol, TypeVar

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
from codekernel.errors import Cancelled, ContextTooLong, KernelError, ToolsRefused
from codekernel.loop.text_tool_parser import TextBlockKind, TextBlockPiece

# Tokens; assumed of a model of which nothing is known. Smaller ones refuse, and get half.
DEFAULT_CONTEXT_TOKENS = 32_768

# Tokens kept free for the answer, and at most this share of a small window.
RESERVED_ANSWER_TOKENS = 4_096

ANSWER_WINDOW_DIVISOR = 4

# What a chat template adds to each message.
MESSAGE_OVERHEAD_TOKENS = 8

# Texts whose count is remembered: more than the excerpts of any one turn, and than the messages of
# any agent. One too few, and all of them are counted again each time.
_TOKEN_CACHE_SIZE = 4_096

CountTokens = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """The maximum of tokens of all texts of a request together."""

    max_tokens: int
    count_tokens: CountTokens

    def count_remaining(self, texts: Iterable[str]) -> int:
        """Return the tokens left after these texts."""
        return self.max_tokens - sum(
            self.count_tokens(text) + MESSAGE_OVERHEAD_TOKENS for text in texts
        )

    def can_fit(self, texts: Sequence[str]) -> bool:
        """Return whether all of these fit."""
        if (
            sum(len(text.encode(errors="replace")) + MESSAGE_OVERHEAD_TOKENS for text in texts)
            < self.max_tokens
        ):
            return True
        return self.count_remaining(texts) >= 0

    def select_fitting(
        self, fixed: Sequence[str], optional: Sequence[str], order: Sequence[int]
    ) -> set[int]:
        """Return which of ``optional`` fit beside ``fixed``; the first of ``order`` matter most."""
        if self.can_fit([*fixed, *optional]):
            return set(range(len(optional)))
        left = self.count_remaining(fixed)
        kept: set[int] = set()
        for index in order:
            cost = self.count_tokens(optional[index]) + MESSAGE_OVERHEAD_TOKENS
            if cost <= left:
                kept.add(index)
                left -= cost
        return kept


def make_token_budget(context_tokens: int | None, count_tokens: CountTokens) -> TokenBudget:
    """Return the budget of a model with this window, with tokens reserved for the answer."""
    window = context_tokens or DEFAULT_CONTEXT_TOKENS
    answer = min(RESERVED_ANSWER_TOKENS, window // ANSWER_WINDOW_DIVISOR)
    return TokenBudget(window - answer, lru_cache(maxsize=_TOKEN_CACHE_SIZE)(count_tokens))


def shrink_token_budget(
    budget: TokenBudget, sent: Sequence[str], context_tokens: int | None
) -> TokenBudget:
    """Return a smaller budget after a refusal: the window the model has, else half of ``sent``."""
    refused = sum(budget.count_tokens(text) + MESSAGE_OVERHEAD_TOKENS for text in sent)
    reported = (
        make_token_budget(context_tokens, budget.count_tokens).max_tokens
        if context_tokens
        else refused
    )
    return TokenBudget(reported if reported < refused else refused // 2, budget.count_tokens)


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
    """One request; ``run`` is called once, and ``reply`` is complete after its end."""

    backend: ChatBackend
    request: ChatRequest
    parser: ReplyParser
    cancel: CancelToken
    meter: RequestMeter = field(default_factory=RequestMeter)
    reply: ModelReply = field(default_factory=ModelReply)
    _has_native_calls: bool = False
    _last_block: dict[TextBlockKind, int] = field(default_factory=dict)

    def run(self) -> Iterator[ModelCallEvent]:
        """Stream the events. Raises what the backend raises."""
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
        yield from self._read_pieces(self.parser.end(has_calls=self._has_native_calls))

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
                    self.reply.calls, self._has_native_calls = calls, True
                    written = (f"{call.name} {call.arguments}" for call in calls)
                    yield ModelTextReceived(" ".join(written))
                case ChatFinished(reason):
                    self.reply.finish_reason = reason
                case TokensUsed(read, written_tokens, exact):
                    yield TokensCounted(TokenUsage(read, written_tokens, exact))

    def _read_pieces(self, pieces: Iterable[TextBlockPiece]) -> Iterator[ShownDelta]:
        for piece in pieces:
            if piece.kind is TextBlockKind.CALL:
                if not self._has_native_calls:
                    self.reply.calls += (ChatToolCall("", piece.name, piece.text),)
                continue
            is_apart = self._last_block.get(piece.kind, piece.number) != piece.number
            self._last_block[piece.kind] = piece.number
            text = f"{PARAGRAPH_BREAK if is_apart else ''}{piece.text}"
            if piece.kind is TextBlockKind.THINKING:
                yield ReasoningDelta(text)
            elif piece.kind is TextBlockKind.TEXT:
                self.reply.text += text
                yield TextDelta(text)


TaskEvent_co = TypeVar("TaskEvent_co", covariant=True)


class LoopTask(Protocol[TaskEvent_co]):
    """What a conversation and an agent do differently: prompt, tools, and how text is shown."""

    stopped_message: str
    # Whether each request repeats the one before, so that only what was added is reported.
    extends_requests: bool

    def start(self) -> Iterator[TaskEvent_co]:
        """Do what comes before the first call of the model."""

    def build_request(self, budget: TokenBudget, *, native_tools: bool) -> ChatRequest:
        """Build the next request within the budget."""

    def make_parser(self, *, native_tools: bool) -> ReplyParser:
        """Return the parser of the reply to that request."""

    def show_text(self, text: str) -> Iterator[TaskEvent_co]:
        """Return the events of text that the model wrote."""

    def show_thinking(self, text: str) -> Iterator[TaskEvent_co]:
        """Return the events of what the model thinks to itself."""

    def handle_reply(
        self, reply: ModelReply, budget: TokenBudget
    ) -> Generator[TaskEvent_co, None, bool]:
        """Run the tool calls of a reply, and return whether the model is called again.

        Raises NetworkError if the model has not answered.
        """


def run_loop(
    task: LoopTask[TaskEvent_co],
    backend: ChatBackend,
    cancel: CancelToken,
    context_tokens: int | None = None,
) -> Iterator[TaskEvent_co | UsageEvent]:
    """Yield everything that happens until the answer is complete; raises what went wrong.

    ``context_tokens`` is the window of the model where the settings say it. What the endpoint
    refuses of a request is repaired once each, and it is sent again.
    """
    budget = make_token_budget(context_tokens or backend.context_tokens, backend.count_tokens)
    native_tools, meter = backend.supports_tools, RequestMeter()
    yield from task.start()
    is_open, was_shortened = True, False
    while is_open:
        if cancel.is_cancelled:
            raise Cancelled(task.stopped_message)
        request = task.build_request(budget, native_tools=native_tools)
        parser = task.make_parser(native_tools=native_tools)
        meter = meter if task.extends_requests else RequestMeter()
        call = ModelCall(backend, request, parser, cancel, meter)
        try:
            yield from _show_call(task, call)
        except ToolsRefused:
            if not request.tools:
                raise
            native_tools = False
        except ContextTooLong:
            if was_shortened:
                raise
            was_shortened = True
            sent = [message.content for message in request.messages]
            budget = shrink_token_budget(budget, sent, backend.context_tokens)
        else:
            was_shortened = False
            is_open = yield from task.handle_reply(call.reply, budget)


def _show_call(
    task: LoopTask[TaskEvent_co], call: ModelCall
) -> Iterator[TaskEvent_co | UsageEvent]:
    for event in call.run():
        match event:
            case TextDelta(text):
                yield from task.show_text(text)
            case ReasoningDelta(text):
                yield from task.show_thinking(text)
            case _:
                yield event
