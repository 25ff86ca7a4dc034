"""The agent loop: request a reply from the model (streamed.

With native or text tool calls), run its tool calls in order, and repeat until it answers.
"""

import json
import logging
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

from codekernel.agent.events import (
    AgentEvent,
    AgentFailed,
    AgentFinished,
    AgentReminded,
    RoundStarted,
    TextPart,
    ThinkingPart,
    ToolCalled,
    ToolReturned,
)
from codekernel.agent.registry import ToolRegistry
from codekernel.agent.system_prompt import PLAN_TOOL_NAME, build_system_prompt, build_tool_specs
from codekernel.agent.tool import ToolContext, ToolOutcome, make_failure
from codekernel.agent.tool_policy import ToolPermission
from codekernel.agent.tools.toolsets import build_all_tools
from codekernel.agent.transcript import (
    Transcript,
    compute_max_result_characters,
    convert_to_text_messages,
    fit_to_budget,
)
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
)
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.untrusted_text import parse_json
from codekernel.errors import Cancelled, ContextTooLong, KernelError, NetworkError, ToolsRefused
from codekernel.loop.text_tool_parser import TextBlockKind, TextBlockPiece, TextToolCallParser
from codekernel.loop.token_budget import make_token_budget, shrink_token_budget

_TEXT_CALL_MARKERS = ("<tool_call>", "```tool")

_PARAGRAPH_BREAK = "\n\n"


@dataclass(slots=True)
class ModelReply:
    """What the model wrote, complete once the events are over."""

    parts: list[str] = field(default_factory=list)
    calls: tuple[ChatToolCall, ...] = ()
    finish_reason: str = ""

    @property
    def text(self) -> str:
        """Everything it said, its thoughts left out."""
        return "".join(self.parts)


def stream_reply(
    backend: ChatBackend, request: ChatRequest, cancel: CancelToken
) -> Generator[AgentEvent, None, ModelReply]:
    """Ask a model that calls tools; raises what the backend raises.

    Some such models write their calls into the text now and then; these count as well.
    """
    reply = ModelReply()
    for event in backend.stream(request, cancel):
        match event:
            case TextDelta(text):
                reply.parts.append(text)
                yield TextPart(text)
            case ReasoningDelta(text):
                yield ThinkingPart(text)
            case ChatToolCalls(calls):
                reply.calls = calls
            case ChatFinished(reason):
                reply.finish_reason = reason
    if not reply.calls and any(sign in reply.text for sign in _TEXT_CALL_MARKERS):
        reply.calls = tuple(_parse_written_calls(reply.text, [spec.name for spec in request.tools]))
    return reply


def stream_text_reply(
    backend: ChatBackend, request: ChatRequest, cancel: CancelToken, tool_names: list[str]
) -> Generator[AgentEvent, None, ModelReply]:
    """Ask a model that can only write; ends as soon as it invents a result."""
    reading = _TextReplyReader(TextToolCallParser(tool_names, stop_at_result=True))
    enough = cancel.create_child()
    try:
        for event in backend.stream(request, enough):
            match event:
                case TextDelta(text):
                    yield from reading.feed_pieces(reading.parser.feed(text))
                case ReasoningDelta(text):
                    yield ThinkingPart(text)
                case ChatFinished(reason):
                    reading.reply.finish_reason = reason
            if reading.parser.is_over:
                enough.cancel()
    except Cancelled:
        if cancel.is_cancelled or not reading.parser.is_over:
            raise
    yield from reading.feed_pieces(reading.parser.end())
    return reading.reply


@dataclass(slots=True)
class _TextReplyReader:
    parser: TextToolCallParser
    reply: ModelReply = field(default_factory=ModelReply)
    _text_block: int = 0
    _thinking_block: int = 0

    def feed_pieces(self, pieces: list[TextBlockPiece]) -> Iterator[AgentEvent]:
        for piece in pieces:
            if piece.kind is TextBlockKind.CALL:
                self.reply.calls += (ChatToolCall("", piece.name, piece.text),)
            elif piece.kind is TextBlockKind.THINKING:
                apart = self._thinking_block and piece.number != self._thinking_block
                self._thinking_block = piece.number
                yield ThinkingPart(f"{_PARAGRAPH_BREAK if apart else ''}{piece.text}")
            elif piece.kind is TextBlockKind.TEXT:
                apart = self._text_block and piece.number != self._text_block
                self._text_block = piece.number
                text = f"{_PARAGRAPH_BREAK if apart else ''}{piece.text}"
                self.reply.parts.append(text)
                yield TextPart(text)


def _parse_written_calls(text: str, names: list[str]) -> Iterator[ChatToolCall]:
    """The calls of known tools in a text."""
    blocks = TextToolCallParser(names)
    for piece in (*blocks.feed(text), *blocks.end()):
        if piece.kind is TextBlockKind.CALL and piece.name in names:
            yield ChatToolCall("", piece.name, piece.text)


logger = logging.getLogger(__name__)

MAX_AGENT_ROUNDS = 100

# Reminders without a call in between; a model that only repeats itself is believed then.
_MAX_REMINDERS = 3

STOPPED_MESSAGE = "The agent was stopped."

_PLAN_FIRST_MESSAGE = (
    "BLOCKED: You must make a plan decision first. Call plan with action create for a task of"
    " several steps, or with action skip for a simple one; then call {name} again."
)

_MASKED_SECRET_MESSAGE = (
    "These arguments have [masked: ...] in them, which stands for a secret that you were not shown;"  # noqa: S105
    " writing it would destroy the secret. Change only the text around it, by an edit of that place"
    " alone."
)

_REMINDER_MESSAGE = "{reminder}\nGo on with these tasks, or update the plan if they are done."


def _do_nothing() -> None:
    pass


@dataclass(slots=True)
class AgentLoop:
    """One session of an agent; ``keep`` is called whenever the transcript is worth saving.

    ``settle`` is called before the last word: what was kept must be safe then.
    """

    backend: ChatBackend
    registry: ToolRegistry
    context: ToolContext
    transcript: Transcript = field(default_factory=Transcript)
    save: Callable[[], None] = _do_nothing
    flush: Callable[[], None] = _do_nothing
    max_rounds: int = MAX_AGENT_ROUNDS
    # Tokens that the model can read and write at once, where a person knows better than it.
    context_tokens: int | None = None

    def run(self, prompt: str, cancel: CancelToken) -> Iterator[AgentEvent]:
        """Everything that happens until the answer; the last event is Finished or Failed."""
        self.transcript.add_user_message(prompt)
        self.try_save(self.save)  # so that the session is there, whatever happens
        try:
            last = yield from _AgentTurn(self, cancel).run_rounds()
        except Cancelled:
            last = AgentFailed(STOPPED_MESSAGE)
        except KernelError as error:
            last = AgentFailed(str(error), error.code)
        finally:
            # Also where nobody listens any more. Before the last word: who hears it may leave.
            self.transcript.close_open_calls()
            self.try_save(self.save)
            self.try_save(self.flush)
        yield last

    def try_save(self, save: Callable[[], None]) -> None:
        """Keep or settle; an agent does not end because its session cannot be saved."""
        try:
            save()
        except KernelError as error:
            logger.warning("the agent's session is not saved. %s", error)


class _AgentTurn:
    """One task, from what the person says to the last word."""

    def __init__(self, loop: AgentLoop, cancel: CancelToken) -> None:
        self._loop = loop
        self._backend = loop.backend
        self._transcript = loop.transcript
        self._cancel = cancel
        self._context = loop.context.with_cancel(cancel)
        window = loop.context_tokens or self._backend.context_tokens
        self._budget = make_token_budget(window, self._backend.count_tokens)
        self._specs = build_tool_specs(loop.registry, build_all_tools().names)
        self._spec_texts = [json.dumps([it.description, it.parameters]) for it in self._specs]
        self._uses_native_tools = self._backend.supports_tools
        self._reminders_left = _MAX_REMINDERS

    def run_rounds(self) -> Generator[AgentEvent, None, AgentFinished | AgentFailed]:
        """Round after round; returns the last word."""
        for number in range(1, self._loop.max_rounds + 1):
            yield RoundStarted(number)
            reply = yield from self._request_reply()
            calls = self._transcript.assign_call_ids(reply.calls)
            self._transcript.add_reply(reply.text, calls)
            if calls:
                self._reminders_left = _MAX_REMINDERS
                yield from self._run_calls(calls)
                self._loop.try_save(self._loop.save)
                continue
            reminder = self._context.plan.build_reminder() if number > 1 else None
            if reminder is None or not self._reminders_left:
                if not reply.text.strip():
                    raise NetworkError(
                        _explain_no_answer(self._backend.model_name, reply.finish_reason)
                    )
                return AgentFinished(reply.text)
            self._reminders_left -= 1
            self._transcript.add_user_message(_REMINDER_MESSAGE.format(reminder=reminder))
            yield AgentReminded(reminder)
        return AgentFailed(
            f"The agent has used all its {self._loop.max_rounds} rounds. What it has done is kept:"
            " resume the session to go on."
        )

    def _run_calls(self, calls: tuple[ChatToolCall, ...]) -> Iterator[AgentEvent]:
        for call in calls:
            yield ToolCalled(call.id, call.name, _parse_call_arguments(call.arguments))
            outcome = self._run_call(call)
            self._transcript.add_tool_result(
                call, outcome.text, compute_max_result_characters(self._budget)
            )
            yield ToolReturned(call.id, call.name, outcome)

    def _run_call(self, call: ChatToolCall) -> ToolOutcome:
        registry, plan = self._loop.registry, self._context.plan
        if call.name in registry:
            if call.name != PLAN_TOOL_NAME and PLAN_TOOL_NAME in registry and not plan.is_decided:
                return make_failure(_PLAN_FIRST_MESSAGE.format(name=call.name))
            writes = registry[call.name].permission in {ToolPermission.WRITES, ToolPermission.RUNS}
            if writes and self._transcript.has_mask_in(call):
                return make_failure(_MASKED_SECRET_MESSAGE)
        return registry.call(call.name, call.arguments, self._context)

    def _request_reply(self) -> Generator[AgentEvent, None, ModelReply]:
        """One reply; what the endpoint refuses is mended once each and asked again."""
        was_shortened = False
        while True:
            if self._cancel.is_cancelled:
                raise Cancelled(STOPPED_MESSAGE)
            request = self._build_request()
            try:
                if self._uses_native_tools:
                    return (yield from stream_reply(self._backend, request, self._cancel))
                names = self._loop.registry.names
                return (yield from stream_text_reply(self._backend, request, self._cancel, names))
            except ToolsRefused:
                if not self._uses_native_tools:
                    raise
                self._uses_native_tools = False
            except ContextTooLong:
                if was_shortened:
                    raise
                was_shortened = True
                sent = [message.content for message in request.messages]
                self._budget = shrink_token_budget(self._budget, sent, self._backend.context_tokens)

    def _build_request(self) -> ChatRequest:
        system = build_system_prompt(self._specs, as_text=not self._uses_native_tools)
        fixed = [system, *(self._spec_texts if self._uses_native_tools else ())]
        self._transcript.messages = fit_to_budget(self._transcript.messages, fixed, self._budget)
        told = self._transcript.messages
        first = ChatMessage(Role.SYSTEM, system)
        if self._uses_native_tools:
            return ChatRequest((first, *told), self._specs)
        return ChatRequest((first, *convert_to_text_messages(told)))


def _parse_call_arguments(text: str) -> dict[str, Any]:
    """The arguments for whoever looks on; the tool itself says what is wrong with them."""
    try:
        value = parse_json(text or "{}", strict=False)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _explain_no_answer(model_name: str, finish_reason: str) -> str:
    if finish_reason == "length":
        return (
            f"The model {model_name} used up its tokens before it answered."
            " Ask for less at once, or choose a model with a larger limit."
        )
    return f"The model {model_name} ended without an answer. Ask again, or choose another model."
