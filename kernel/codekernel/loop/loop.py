"""The loop of conversations and of the agent.

Call the model, let the task run the tool calls of its reply, and repeat until it has answered.
"""

from collections.abc import Generator, Iterator
from typing import Generic, Protocol, TypeVar

from codekernel.domain.chat import ChatBackend, ChatRequest, ReasoningDelta, TextDelta
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled, ContextTooLong, ToolsRefused
from codekernel.loop.model_call import (
    ModelCall,
    ModelReply,
    ReplyParser,
    RequestMeter,
    UsageEvent,
)
from codekernel.loop.token_budget import TokenBudget, make_token_budget, shrink_token_budget

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

    ``context_tokens`` is the window of the model where the settings say it.
    """
    model = _LoopModel(task, backend, cancel, context_tokens)
    yield from task.start()
    is_open = True
    while is_open:
        reply = yield from model.request_reply()
        is_open = yield from task.handle_reply(reply, model.budget)


class _LoopModel(Generic[TaskEvent_co]):
    """The model of one run, with what was learnt about its window and its tools."""

    def __init__(
        self,
        task: LoopTask[TaskEvent_co],
        backend: ChatBackend,
        cancel: CancelToken,
        context_tokens: int | None,
    ) -> None:
        self._task = task
        self._backend = backend
        self._cancel = cancel
        self._uses_native_tools = backend.supports_tools
        self._meter = RequestMeter()
        window = context_tokens or backend.context_tokens
        self.budget = make_token_budget(window, backend.count_tokens)

    def request_reply(self) -> Generator[TaskEvent_co | UsageEvent, None, ModelReply]:
        """Return one reply; what the endpoint refuses is repaired once each and sent again."""
        was_shortened = False
        while True:
            if self._cancel.is_cancelled:
                raise Cancelled(self._task.stopped_message)
            native = self._uses_native_tools
            request = self._task.build_request(self.budget, native_tools=native)
            parser = self._task.make_parser(native_tools=native)
            try:
                return (yield from self._stream_reply(request, parser))
            except ToolsRefused:
                if not request.tools:
                    raise
                self._uses_native_tools = False
            except ContextTooLong:
                if was_shortened:
                    raise
                was_shortened = True
                sent = [message.content for message in request.messages]
                self.budget = shrink_token_budget(self.budget, sent, self._backend.context_tokens)

    def _stream_reply(
        self, request: ChatRequest, parser: ReplyParser
    ) -> Generator[TaskEvent_co | UsageEvent, None, ModelReply]:
        meter = self._meter if self._task.extends_requests else RequestMeter()
        events = ModelCall(self._backend, request, parser, self._cancel, meter).run()
        while True:
            try:
                event = next(events)
            except StopIteration as end:
                reply: ModelReply = end.value
                return reply
            match event:
                case TextDelta(text):
                    yield from self._task.show_text(text)
                case ReasoningDelta(text):
                    yield from self._task.show_thinking(text)
                case _:
                    yield event
