"""The agent: ask the model, do what it wants done, tell it what came of it, until it answers.

Tools are called one after another, in the order in which the model wants them, and none before it
has decided on a plan. A model that ends with open tasks is reminded and asked again.
"""

import json
import logging
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

from kernel.agent.context import ToolContext
from kernel.agent.danger import Danger
from kernel.agent.events import (
    AgentEvent,
    Failed,
    Finished,
    Reminded,
    RoundBegun,
    ToolCalled,
    ToolReturned,
)
from kernel.agent.loop_budget import fitted, longest_result
from kernel.agent.loop_exchange import Reply, exchanged, exchanged_as_text
from kernel.agent.loop_prompt import PLAN, system_prompt
from kernel.agent.loop_specs import specs_of
from kernel.agent.loop_transcript import Transcript, as_text
from kernel.agent.registry import Registry
from kernel.agent.tool import Outcome, failed
from kernel.agent.toolbox import all_tools
from kernel.conversation.budget import budget_for, shortened
from kernel.domain.cancel import CancelToken
from kernel.domain.chat import ChatBackend, ChatMessage, ChatRequest, Role, ToolCall
from kernel.domain.safe_json import parse_json
from kernel.errors import Cancelled, ContextTooLong, KernelError, NetworkError, ToolsRefused

logger = logging.getLogger(__name__)

MOST_ROUNDS = 100
# Reminders without a call in between; a model that only repeats itself is believed then.
_MOST_REMINDERS = 3
STOPPED = "The agent was stopped."
_BLOCKED = (
    "BLOCKED: You must make a plan decision first. Call plan with action create for a task of"
    " several steps, or with action skip for a simple one; then call {name} again."
)
_MASKED = (
    "These arguments have [masked: ...] in them, which stands for a secret that you were not shown;"
    " writing it would destroy the secret. Change only the text around it, by an edit of that place"
    " alone."
)
_GO_ON = "{reminder}\nGo on with these tasks, or update the plan if they are done."


def _nothing() -> None:
    pass


@dataclass(slots=True)
class AgentLoop:
    """One session of an agent; ``keep`` is called whenever the transcript is worth saving.

    ``settle`` is called before the last word: what was kept must be safe then.
    """

    backend: ChatBackend
    registry: Registry
    context: ToolContext
    transcript: Transcript = field(default_factory=Transcript)
    keep: Callable[[], None] = _nothing
    settle: Callable[[], None] = _nothing
    most_rounds: int = MOST_ROUNDS
    # Tokens that the model can read and write at once, where a person knows better than it.
    window: int | None = None

    def events(self, prompt: str, cancel: CancelToken) -> Iterator[AgentEvent]:
        """Everything that happens until the answer; the last event is Finished or Failed."""
        self.transcript.asked(prompt)
        self.kept(self.keep)  # so that the session is there, whatever happens
        try:
            last = yield from _Turn(self, cancel).events()
        except Cancelled:
            last = Failed(STOPPED)
        except KernelError as error:
            last = Failed(str(error), error.code)
        finally:
            # Also where nobody listens any more. Before the last word: who hears it may leave.
            self.transcript.close()
            self.kept(self.keep)
            self.kept(self.settle)
        yield last

    def kept(self, keep: Callable[[], None]) -> None:
        """Keep or settle; an agent does not end because its session cannot be saved."""
        try:
            keep()
        except KernelError as error:
            logger.warning("the agent's session is not saved. %s", error)


class _Turn:
    """One task, from what the person says to the last word."""

    def __init__(self, loop: AgentLoop, cancel: CancelToken) -> None:
        self._loop = loop
        self._backend = loop.backend
        self._transcript = loop.transcript
        self._cancel = cancel
        self._context = loop.context.cancelled_by(cancel)
        window = loop.window or self._backend.context_tokens
        self._budget = budget_for(window, self._backend.count_tokens)
        self._specs = specs_of(loop.registry, all_tools().names)
        self._told_specs = [json.dumps([it.description, it.parameters]) for it in self._specs]
        self._tools = self._backend.calls_tools
        self._reminders_left = _MOST_REMINDERS

    def events(self) -> Generator[AgentEvent, None, Finished | Failed]:
        """Round after round; returns the last word."""
        for number in range(1, self._loop.most_rounds + 1):
            yield RoundBegun(number)
            reply = yield from self._asked()
            calls = self._transcript.named(reply.calls)
            self._transcript.replied(reply.text, calls)
            if calls:
                self._reminders_left = _MOST_REMINDERS
                yield from self._called(calls)
                self._loop.kept(self._loop.keep)
                continue
            reminder = self._context.plan.reminder() if number > 1 else None
            if reminder is None or not self._reminders_left:
                if not reply.text.strip():
                    raise NetworkError(_no_answer(self._backend.model_name, reply.finish))
                return Finished(reply.text)
            self._reminders_left -= 1
            self._transcript.asked(_GO_ON.format(reminder=reminder))
            yield Reminded(reminder)
        return Failed(
            f"The agent has used all its {self._loop.most_rounds} rounds. What it has done is kept:"
            " resume the session to go on."
        )

    def _called(self, calls: tuple[ToolCall, ...]) -> Iterator[AgentEvent]:
        for call in calls:
            yield ToolCalled(call.id, call.name, _object(call.arguments))
            outcome = self._outcome(call)
            self._transcript.returned(call, outcome.text, longest_result(self._budget))
            yield ToolReturned(call.id, call.name, outcome)

    def _outcome(self, call: ToolCall) -> Outcome:
        registry, plan = self._loop.registry, self._context.plan
        if call.name in registry:
            if call.name != PLAN and PLAN in registry and not plan.is_decided:
                return failed(_BLOCKED.format(name=call.name))
            writes = registry[call.name].danger in {Danger.WRITES, Danger.RUNS}
            if writes and self._transcript.writes_mask(call):
                return failed(_MASKED)
        return registry.call(call.name, call.arguments, self._context)

    def _asked(self) -> Generator[AgentEvent, None, Reply]:
        """One reply; what the endpoint refuses is mended once each and asked again."""
        was_shortened = False
        while True:
            if self._cancel.cancelled:
                raise Cancelled(STOPPED)
            request = self._request()
            try:
                if self._tools:
                    return (yield from exchanged(self._backend, request, self._cancel))
                names = self._loop.registry.names
                return (yield from exchanged_as_text(self._backend, request, self._cancel, names))
            except ToolsRefused:
                if not self._tools:
                    raise
                self._tools = False
            except ContextTooLong:
                if was_shortened:
                    raise
                was_shortened = True
                sent = [message.content for message in request.messages]
                self._budget = shortened(self._budget, sent, self._backend.context_tokens)

    def _request(self) -> ChatRequest:
        system = system_prompt(self._specs, as_text=not self._tools)
        fixed = [system, *(self._told_specs if self._tools else ())]
        self._transcript.messages = fitted(self._transcript.messages, fixed, self._budget)
        told = self._transcript.messages
        first = ChatMessage(Role.SYSTEM, system)
        if self._tools:
            return ChatRequest((first, *told), self._specs)
        return ChatRequest((first, *as_text(told)))


def _object(text: str) -> dict[str, Any]:
    """The arguments for whoever looks on; the tool itself says what is wrong with them."""
    try:
        value = parse_json(text or "{}", strict=False)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _no_answer(model_name: str, finish: str) -> str:
    if finish == "length":
        return (
            f"The model {model_name} used up its tokens before it answered."
            " Ask for less at once, or choose a model with a larger limit."
        )
    return f"The model {model_name} ended without an answer. Ask again, or choose another model."
