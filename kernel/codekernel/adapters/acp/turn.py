"""A running turn of an ACP agent: its updates in their order, as messages of document 004.

Filled on the event loop, emptied by the thread that waits for the end of the turn.
"""

import queue
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto

from acp import schema

from codekernel.adapters.acp.agent_process import AgentLimits
from codekernel.adapters.acp.update_reader import AcpStep, TurnReader
from codekernel.agent.agent_thread import AgentMessageStream
from codekernel.domain.turn_events import RoundStarted
from codekernel.sync.agents import AgentUpdate, BackendPermission, PlanUpdated

# A message that grows beyond this goes on as another one.
MAX_MESSAGE_CHARACTERS = 200_000


class _TurnSignal(Enum):
    END = auto()


@dataclass(frozen=True, slots=True)
class AskedPermission:
    """A permission as the agent asks for it."""

    id: str
    call: schema.ToolCallUpdate
    options: list[schema.PermissionOption]


class AcpTurn:
    """One turn of a session."""

    def __init__(self, session: str, limits: AgentLimits) -> None:
        self._limits = limits
        self.received_bytes = 0
        self._session = session
        self._items: queue.Queue[object] = queue.Queue()
        self._cancel_deadline = 0.0
        self._reader = TurnReader()
        self._stream = AgentMessageStream(interval_seconds=limits.message_interval_seconds)
        self._grown_characters = 0

    @property
    def is_cancelled(self) -> bool:
        """Whether the agent was told to stop."""
        return self._cancel_deadline > 0

    @property
    def is_congested(self) -> bool:
        """Whether the agent should wait until its updates are taken."""
        return self._items.qsize() > self._limits.max_pending_updates

    def cancel(self) -> None:
        """Wait for the end only for a moment from now on."""
        self._cancel_deadline = time.monotonic() + self._limits.cancel_timeout_seconds

    def put(self, item: object) -> None:
        """Add an update of the SDK, or a permission."""
        self._items.put(item)

    def end(self) -> None:
        """Add the end."""
        self._items.put(_TurnSignal.END)

    def iterate_updates(self, ask: Callable[[BackendPermission], None]) -> Iterator[AgentUpdate]:
        """Yield the updates until the end; ask for permissions in their place."""
        while not self.is_cancelled or time.monotonic() < self._cancel_deadline:
            try:
                item = self._items.get(timeout=self._limits.message_interval_seconds)
            except queue.Empty:
                yield from self._stream.feed(None)
                yield from self._feed(self._reader.read_waiting())
                continue
            if item is _TurnSignal.END:
                break
            if isinstance(item, AskedPermission):
                steps, permission = self._reader.read_permission(
                    item.id, self._session, item.call, item.options
                )
                yield from self._feed(steps)
                ask(permission)
            else:
                yield from self._feed(self._limit_growth(list(self._reader.read(item))))
        yield from self._feed(self._reader.finish())
        yield from self._stream.flush()

    def _limit_growth(self, steps: list[AcpStep]) -> list[AcpStep]:
        self._grown_characters += sum(len(getattr(step, "text", "")) for step in steps)
        if self._grown_characters > MAX_MESSAGE_CHARACTERS:
            self._grown_characters = 0
            steps.append(RoundStarted(0))
        return steps

    def _feed(self, steps: Iterable[AcpStep]) -> Iterator[AgentUpdate]:
        for step in steps:
            if isinstance(step, PlanUpdated):
                yield step
            else:
                yield from self._stream.feed(step)
