"""An agent's turn in a conversation: the loop on a thread, told as messages, kept step by step."""

import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any, get_args

from kernel.agent.context import ToolContext
from kernel.agent.danger import Asking, Danger, Wish
from kernel.agent.events import AgentEvent, Failed, Finished, RoundBegun, ToolCalled, ToolReturned
from kernel.agent.growing import Growing, step_of
from kernel.agent.loop import AgentLoop
from kernel.agent.threaded import AgentThread, Question
from kernel.agent.told_text import shortened
from kernel.agent.toolbox import agent_tools
from kernel.agent.workbench import Workbench
from kernel.conversation.metered import Metered
from kernel.conversation.remembered import recalled
from kernel.conversation.under_way import Accepted, Closing, UnderWay
from kernel.domain.agent_message import AgentMessage
from kernel.domain.chat import ChatBackend
from kernel.domain.turn import FileChange, Worked
from kernel.domain.turn_events import (
    AgentStep,
    Changed,
    Counted,
    Fleeting,
    MessageTold,
    PermissionAsked,
    Received,
    Sent,
    ToolDone,
    TurnEvent,
)
from kernel.errors import Cancelled, KernelError, NetworkError

# Whoever has an agent work in a repository wants files edited; all that goes beyond is asked for.
ALWAYS_ALLOWED = (Danger.READS, Danger.WRITES)
# How often a growing message is told again: often enough to be read as it comes.
_TOLD_EVERY_SECONDS = 0.1

_Cost = Sent | Received | Counted


class AgentTalk(UnderWay[Fleeting]):
    """A task under way; ``decide`` may be called from any thread."""

    shown = get_args(Fleeting)

    def __init__(self, accepted: Accepted, bench: Workbench) -> None:
        super().__init__(accepted)
        self._bench = bench
        # Its own: the thread is also ended because the agent has failed, which is no stop.
        self._cancel = accepted.given.cancel.child()
        self._thread: AgentThread[_Cost] = AgentThread(self._cancel)
        self._growing = Growing(redraw_seconds=_TOLD_EVERY_SECONDS)
        self._secrets_before = bench.session.transcript.secrets
        self._changes_told = bench.journal.next_number
        self._use: tuple[str, Mapping[str, Any]] = ("", {})
        self._door = threading.Lock()
        self._questions: dict[str, Question] = {}
        self._allowed: set[Danger] = set()

    def decide(self, tool_use_id: str, *, allowed: bool, for_turn: bool = False) -> bool:
        """Answer a question, with ``for_turn`` all further ones of its kind; false if none is open.

        A question can be answered once.
        """
        with self._door:
            question = self._questions.pop(tool_use_id, None)
            if question and allowed and for_turn:
                self._allowed.add(question.wish.danger)
        if question:
            question.answer(allowed=allowed)
        return question is not None

    def _work(self, backend: ChatBackend) -> Iterator[TurnEvent | Fleeting]:
        self._stop_if_cancelled()
        with ExitStack() as held:
            yield from self._remember()
            loop = self._loop(Metered(backend, self._thread.tell), held)
            events = loop.events(self._notebook.fold.asking.query, self._cancel)
            coming = held.enter_context(closing(self._thread.events(events)))
            for event in coming:
                yield from self._taken(event)

    def _closing(self) -> Closing:
        fold = self._notebook.fold
        masked = self._bench.session.transcript.secrets - self._secrets_before
        return Closing(masked, worked=Worked(fold.asking.time_ms, tuple(fold.agent.changes)))

    def _remember(self) -> Generator[TurnEvent, None, None]:
        """Give the agent what was asked and answered without it since its last turn."""
        past, session = list(self._given.past), self._bench.session
        own = [number for number, turn in enumerate(past) if turn.session == session.id]
        others = past[own[-1] + 1 :] if own else past
        memory = yield from recalled(others, self._given.settings.history_length)
        session.transcript.messages += memory.messages

    def _loop(self, backend: ChatBackend, held: ExitStack) -> AgentLoop:
        given, bench = self._given, self._bench
        context = ToolContext(
            bench.root,
            bench.journal,
            permissions=Asking(ALWAYS_ALLOWED, self._may),
            search=lambda query, limit: given.place.search(query, limit, self._cancel),
            calls=given.place.calls,
            plan=bench.session.plan,
        )
        held.enter_context(closing(context))
        return AgentLoop(
            backend,
            agent_tools(),
            context,
            bench.session.transcript,
            keep=bench.keeper.keep,
            settle=bench.keeper.settle,
            window=given.choice.context_tokens,
        )

    def _may(self, wish: Wish) -> bool:
        """On the agent's thread."""
        with self._door:
            allowed = wish.danger in self._allowed
        return allowed or self._thread.ask(wish)

    def _taken(self, event: AgentEvent | Question | _Cost | None) -> Iterator[TurnEvent | Fleeting]:
        match event:
            case Sent() | Received() | Counted():
                yield event
            case Question():
                yield from self._asked(event)
            case Finished() | RoundBegun():
                yield from _told(self._growing.end())
            case Failed(message, code):
                yield from _told(self._growing.end())
                raise self._failure(message, code)
            case None:
                yield from _told(self._growing.told(None))
            case _:
                yield from self._stepped(event)

    def _stepped(self, event: AgentEvent) -> Iterator[TurnEvent | Fleeting]:
        if isinstance(event, ToolCalled):
            self._use = (event.id, event.arguments)
        step = _kept(event)
        if step is None:
            return
        yield step
        yield from _told(self._growing.told(step))
        if isinstance(event, ToolReturned):
            yield from self._changed()

    def _asked(self, question: Question) -> Iterator[Fleeting]:
        tool_use_id, given = self._use
        with self._door:
            self._questions[tool_use_id] = question
        yield PermissionAsked(tool_use_id, question.wish.tool, str(question.wish.danger), given)

    def _changed(self) -> Iterator[Changed]:
        first, self._changes_told = self._changes_told, self._bench.journal.next_number
        for change in self._bench.journal.changes:
            if change.number >= first:
                yield Changed(FileChange(change.path, change.kind))

    def _failure(self, message: str, code: str) -> KernelError:
        if self._given.cancel.cancelled:
            return Cancelled(message)
        return NetworkError(message) if code == NetworkError.code else KernelError(message)


def _kept(event: AgentEvent) -> AgentStep | None:
    """What is told and kept of an event: of a long result its ends, and what an edit changed."""
    step = step_of(event)
    if not isinstance(step, ToolDone) or not isinstance(event, ToolReturned):
        return step
    diff = event.outcome.data.get("diff")
    return replace(
        step, text=shortened(step.text), diff=shortened(diff) if isinstance(diff, str) else ""
    )


def _told(messages: Iterator[AgentMessage]) -> Iterator[MessageTold]:
    return map(MessageTold, messages)
