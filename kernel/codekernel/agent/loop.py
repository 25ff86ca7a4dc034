"""The agent's task for the loop: its prompt, its tools, its plan and the rounds it may take.

AgentLoop runs one task of a session after another and saves the transcript on the way.
"""

import json
import logging
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

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
from codekernel.domain.chat import ChatBackend, ChatMessage, ChatRequest, ChatToolCall, Role
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.turn_events import (
    AgentCallsQueued,
    AgentFinished,
    AgentTextDelta,
    AgentThinkingDelta,
    AgentToolReturned,
    AgentToolUsed,
    LoopEvent,
    RoundStarted,
    TurnFailed,
    TurnReminded,
)
from codekernel.domain.untrusted_text import parse_json
from codekernel.errors import Cancelled, KernelError, NetworkError
from codekernel.loop.loop import ModelReply, ReplyParser, TokenBudget, run_loop
from codekernel.loop.text_tool_parser import NativeReplyParser, TextToolCallParser

logger = logging.getLogger(__name__)

MAX_AGENT_ROUNDS = 100

# Reminders without a call in between; a model that only repeats itself is believed then.
_MAX_REMINDERS = 3

STOPPED_MESSAGE = "The agent was stopped."

_PLAN_FIRST_MESSAGE = (
    "BLOCKED: You must make a plan decision first. Call plan with action create for a task of"
    " several steps, or with action skip for a simple one; then call {name} again."
)

_MASKED_TEXT_MESSAGE = (
    "These arguments have [masked: ...] in them, which stands for a secret that you were not shown;"
    " writing it would destroy the secret. Change only the text around it, by an edit of that place"
    " alone."
)

_REMINDER_MESSAGE = "{reminder}\nGo on with these tasks, or update the plan if they are done."


def _do_nothing() -> None:
    pass


@dataclass(slots=True)
class AgentLoop:
    """One session of an agent; ``save`` is called whenever the transcript is worth saving.

    ``flush`` is called before the last event: what was saved must be on disk then.
    """

    backend: ChatBackend
    registry: ToolRegistry
    context: ToolContext
    transcript: Transcript = field(default_factory=Transcript)
    save: Callable[[], None] = _do_nothing
    flush: Callable[[], None] = _do_nothing
    max_rounds: int = MAX_AGENT_ROUNDS
    # The model's window in tokens, where the settings say it.
    context_tokens: int | None = None
    # Whether no tool runs before the model has decided on a plan, as document 001 has it.
    requires_plan: bool = True

    def run(self, prompt: str, cancel: CancelToken) -> Iterator[LoopEvent]:
        """Yield everything that happens; the last event is AgentFinished or TurnFailed."""
        self.transcript.add_user_message(prompt)
        self.try_save(self.save)  # so that the session is there, whatever happens
        task = _AgentTask(self, cancel)
        try:
            yield from run_loop(task, self.backend, cancel, self.context_tokens)
            last: LoopEvent = AgentFinished(task.answer)
        except Cancelled:
            last = TurnFailed(KernelError.code, STOPPED_MESSAGE)
        except KernelError as error:
            last = TurnFailed(error.code, str(error))
        finally:
            # Also if this is closed. Before the last event: its reader may end the process.
            self.transcript.close_open_calls()
            self.try_save(self.save)
            self.try_save(self.flush)
        yield last

    def try_save(self, save: Callable[[], None]) -> None:
        """Save or flush; an agent does not end because its session cannot be saved."""
        try:
            save()
        except KernelError as error:
            logger.warning("the agent's session is not saved. %s", error)


class _AgentTask:
    """One prompt of a session, as a task of the loop."""

    stopped_message = STOPPED_MESSAGE
    extends_requests = True

    def __init__(self, loop: AgentLoop, cancel: CancelToken) -> None:
        self._loop = loop
        self._transcript = loop.transcript
        self._context = loop.context.with_cancel(cancel)
        self._specs = build_tool_specs(loop.registry, build_all_tools().names)
        self._spec_texts = [json.dumps([it.description, it.parameters]) for it in self._specs]
        self._round = 1
        self._reminders_left = _MAX_REMINDERS
        self.answer = ""

    def start(self) -> Iterator[LoopEvent]:
        """Begin the first round."""
        yield RoundStarted(self._round)

    def build_request(self, budget: TokenBudget, *, native_tools: bool) -> ChatRequest:
        """Return the transcript with the system prompt, old messages truncated to fit."""
        system = build_system_prompt(
            self._specs, as_text=not native_tools, requires_plan=self._loop.requires_plan
        )
        fixed = [system, *(self._spec_texts if native_tools else ())]
        messages = fit_to_budget(self._transcript.messages, fixed, budget)
        self._transcript.messages = messages
        first = ChatMessage(Role.SYSTEM, system)
        if native_tools:
            return ChatRequest((first, *messages), self._specs)
        return ChatRequest((first, *convert_to_text_messages(messages)))

    def make_parser(self, *, native_tools: bool) -> ReplyParser:
        """Return a parser of text tool calls; of a model with native ones it reads stray calls."""
        names = self._loop.registry.names
        if native_tools:
            return NativeReplyParser(names)
        return TextToolCallParser(names, stop_at_result=True)

    def show_text(self, text: str) -> Iterator[LoopEvent]:
        """Show it as text of the agent."""
        yield AgentTextDelta(text)

    def show_thinking(self, text: str) -> Iterator[LoopEvent]:
        """Show it as thinking of the agent."""
        yield AgentThinkingDelta(text)

    def handle_reply(
        self, reply: ModelReply, budget: TokenBudget
    ) -> Generator[LoopEvent, None, bool]:
        """Run the tool calls, or remind the model of open tasks of its plan."""
        calls = self._transcript.assign_call_ids(reply.calls)
        self._transcript.add_reply(reply.text, calls)
        reminder = self._context.plan.build_reminder() if self._round > 1 else None
        if calls:
            self._reminders_left = _MAX_REMINDERS
            yield from self._run_calls(calls, compute_max_result_characters(budget))
            self._loop.try_save(self._loop.save)
        elif reminder is not None and self._reminders_left:
            self._reminders_left -= 1
            self._transcript.add_user_message(_REMINDER_MESSAGE.format(reminder=reminder))
            yield TurnReminded(reminder)
        elif reply.text.strip():
            self.answer = reply.text
            return False
        else:
            raise NetworkError(
                _explain_no_answer(self._loop.backend.model_name, reply.finish_reason)
            )
        if self._round == self._loop.max_rounds:
            raise KernelError(
                f"The agent has used all its {self._round} rounds. What it has done is kept:"
                " resume the session to go on."
            )
        self._round += 1
        yield RoundStarted(self._round)
        return True

    def _run_calls(
        self, calls: tuple[ChatToolCall, ...], max_result_characters: int
    ) -> Iterator[LoopEvent]:
        uses = tuple(
            AgentToolUsed(call.id, call.name, _parse_call_arguments(call.arguments))
            for call in calls
        )
        for number, call in enumerate(calls):
            yield uses[number]
            if number == 0 and uses[1:]:
                yield AgentCallsQueued(uses[1:])
            outcome = self._run_call(call)
            self._transcript.add_tool_result(call, outcome.text, max_result_characters)
            yield AgentToolReturned(
                call.id, outcome.text, outcome.success, name=call.name, data=outcome.data
            )

    def _run_call(self, call: ChatToolCall) -> ToolOutcome:
        registry, plan = self._loop.registry, self._context.plan
        if call.name in registry:
            is_gated = self._loop.requires_plan and PLAN_TOOL_NAME in registry
            if is_gated and call.name != PLAN_TOOL_NAME and not plan.is_decided:
                return make_failure(_PLAN_FIRST_MESSAGE.format(name=call.name))
            writes = registry[call.name].permission in {ToolPermission.WRITES, ToolPermission.RUNS}
            if writes and self._transcript.has_mask_in(call):
                return make_failure(_MASKED_TEXT_MESSAGE)
        return registry.call(call.name, call.arguments, self._context)


def _parse_call_arguments(text: str) -> dict[str, Any]:
    """Return the arguments for display; the tool itself reports what is wrong in them."""
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
