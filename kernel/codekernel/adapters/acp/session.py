"""A session of an ACP agent with its process: runs turns, asks permissions, is cancelled.

What the agent tells comes on the event loop; the thread that waits for the end of a turn takes it
from there, in its order.
"""

import asyncio
import itertools
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path

from acp import schema

from codekernel.adapters.acp.agent_process import AgentProcess
from codekernel.adapters.acp.connection import (
    MAX_PENDING_UPDATES,
    AgentConnection,
    EventLoopThread,
)
from codekernel.adapters.acp.update_reader import AcpStep, TurnReader
from codekernel.agent.agent_thread import AgentMessageStream
from codekernel.domain.settings import AgentCommand
from codekernel.domain.turn_events import RoundStarted
from codekernel.errors import KernelError
from codekernel.sync.agents import (
    AgentUpdate,
    BackendPermission,
    McpServerCommand,
    PlanUpdated,
    UsageUpdated,
)

# How often a growing message is sent again: often enough to be read as it comes.
MESSAGE_INTERVAL_SECONDS = 0.1

# A message that grows beyond this goes on as another one.
MAX_MESSAGE_CHARACTERS = 200_000

# Ten times the longest turn that anybody reads; then the agent is ended.
MAX_TURN_BYTES = 64 * 1024 * 1024

# More are refused: no person answers them.
MAX_OPEN_PERMISSIONS = 16

# An agent that goes on after it was told to stop is ended.
CANCEL_TIMEOUT_SECONDS = 10.0

STOP_CANCELLED = "cancelled"

OnUpdate = Callable[[AgentUpdate], None]


class _TurnSignal(Enum):
    END = auto()


@dataclass(frozen=True, slots=True)
class _AskedPermission:
    id: str
    call: schema.ToolCallUpdate
    options: list[schema.PermissionOption]


@dataclass(slots=True)
class _OpenPermission:
    """A permission that waits, on the event loop."""

    options: list[schema.PermissionOption]
    chosen: "asyncio.Future[str | None]"


@dataclass(slots=True)
class _AcpTurn:
    """A turn: filled on the event loop, emptied by the thread that waits for its end."""

    items: "queue.Queue[object]" = field(default_factory=queue.Queue)
    received_bytes: int = 0
    cancel_deadline: float = 0.0

    @property
    def is_cancelled(self) -> bool:
        return self.cancel_deadline > 0


class AcpSession:
    """A session and its process. What the SDK tells comes on the event loop."""

    def __init__(
        self,
        command: AgentCommand,
        folder: Path,
        servers: Sequence[McpServerCommand],
        loop_thread: EventLoopThread,
    ) -> None:
        """Start the agent and exchange capabilities. Raises KernelError."""
        self.folder = folder
        self.servers = servers
        self.id = ""
        self.last_used = time.monotonic()
        # Whether everything that the agent asks for, but reading, is refused.
        self.reads_only = False
        self.prompt_lock = threading.Lock()
        self._loop_thread = loop_thread
        self._turn: _AcpTurn | None = None
        self._permission_ids = itertools.count(1)
        self._open: dict[str, _OpenPermission] = {}
        self.connection = AgentConnection(AgentProcess(command, folder), loop_thread, self)
        with self._close_on_error():
            self.connection.initialize()

    def begin(self) -> None:
        """Begin the session. Raises KernelError."""
        with self._close_on_error():
            self.id = self.connection.new_session(self.folder, _convert_servers(self.servers))

    def load(self, session: str) -> bool:
        """Go on with an earlier session; false if the agent cannot. Raises KernelError."""
        if not self.connection.capabilities.load_session:
            self.connection.close()
            return False
        self.id = session
        with self._close_on_error():
            self.connection.load_session(session, self.folder, _convert_servers(self.servers))
        return True

    @property
    def has_ended(self) -> bool:
        """Whether its process runs no more."""
        return self.connection.process.has_ended

    @property
    def can_be_ended(self) -> bool:
        """Whether nothing is lost with its process: it does nothing, and can be loaded again."""
        return self._turn is None and bool(self.connection.capabilities.load_session)

    @contextmanager
    def _close_on_error(self) -> Iterator[None]:
        try:
            yield
        except KernelError:
            self.connection.close()
            raise

    def note_update(self, session: str, update: object) -> None:
        """Take an update of the running turn; others, as of a replay, are dropped."""
        if self._turn is not None and session == self.id:
            self._turn.items.put(update)

    def note_received(self, size: int) -> None:
        """Count what the agent sends in a turn, and end it if that is too much."""
        turn = self._turn
        if turn is None:
            return
        turn.received_bytes += size
        if turn.received_bytes > MAX_TURN_BYTES:
            self.connection.process.fail(f"it sent {turn.received_bytes:,} bytes in one turn")

    def is_congested(self) -> bool:
        """Return whether the agent should wait until its updates are taken."""
        return self._turn is not None and self._turn.items.qsize() > MAX_PENDING_UPDATES

    async def ask(
        self, session: str, call: schema.ToolCallUpdate, options: list[schema.PermissionOption]
    ) -> str | None:
        """Wait for the answer to a permission, and return the option that was chosen."""
        turn = self._turn
        is_refused = len(self._open) >= MAX_OPEN_PERMISSIONS
        if turn is None or turn.is_cancelled or session != self.id or is_refused:
            return None
        name = f"{self.id}:{next(self._permission_ids)}"
        waiting = _OpenPermission(options, asyncio.get_running_loop().create_future())
        self._open[name] = waiting
        turn.items.put(_AskedPermission(name, call, options))
        try:
            return await waiting.chosen
        finally:
            self._open.pop(name, None)

    def run_turn(
        self, text: str, on_update: OnUpdate, ask: Callable[[BackendPermission], None]
    ) -> str:
        """Run a turn and return its stop reason. Raises KernelError."""
        turn = self._turn = _AcpTurn()
        answer = self.connection.begin_prompt(self.id, text)
        answer.add_done_callback(lambda _: turn.items.put(_TurnSignal.END))
        try:
            for update in self._follow(turn, ask):
                on_update(update)
            if not answer.done():
                self.connection.process.fail("it went on after it was told to stop")
                return STOP_CANCELLED
            ended = self._take_answer(answer, turn)
            if ended.usage is not None:
                on_update(UsageUpdated(ended.usage.input_tokens, ended.usage.output_tokens))
            return str(ended.stop_reason)
        finally:
            self._turn = None
            self.last_used = time.monotonic()
            answer.cancel()
            self.cancel_permissions()

    def _take_answer(
        self, answer: "Future[schema.PromptResponse]", turn: _AcpTurn
    ) -> schema.PromptResponse:
        """Return how a turn ended. Raises KernelError."""
        try:
            return answer.result()
        except (Exception, CancelledError) as error:
            if turn.is_cancelled:
                return schema.PromptResponse(stop_reason="cancelled")
            raise self.connection.explain(error) from error

    def cancel(self) -> None:
        """Stop the turn, if there is one."""
        turn = self._turn
        if turn is not None and not turn.is_cancelled:
            turn.cancel_deadline = time.monotonic() + CANCEL_TIMEOUT_SECONDS
            self.connection.send_cancel(self.id)
            self.cancel_permissions()

    def answer_permission(self, name: str, *, allowed: bool, option_id: str) -> None:
        """Answer one of our open permissions; others are ignored."""

        def answer() -> None:
            waiting = self._open.get(name)
            if waiting is not None and not waiting.chosen.done():
                option = choose_option(waiting.options, allowed=allowed, option_id=option_id)
                waiting.chosen.set_result(option)

        with suppress(RuntimeError):
            self._loop_thread.loop.call_soon_threadsafe(answer)

    def cancel_permissions(self) -> None:
        """Answer every open permission with ``cancelled``."""

        def cancel() -> None:
            for waiting in self._open.values():
                if not waiting.chosen.done():
                    waiting.chosen.set_result(None)

        with suppress(RuntimeError):
            self._loop_thread.loop.call_soon_threadsafe(cancel)

    def _follow(
        self, turn: _AcpTurn, ask: Callable[[BackendPermission], None]
    ) -> Iterator[AgentUpdate]:
        """Yield the updates of a turn until its end; ask for permissions in their place."""
        reader = TurnReader()
        stream = AgentMessageStream(interval_seconds=MESSAGE_INTERVAL_SECONDS)
        grown = 0
        while not turn.is_cancelled or time.monotonic() < turn.cancel_deadline:
            try:
                item = turn.items.get(timeout=MESSAGE_INTERVAL_SECONDS)
            except queue.Empty:
                yield from stream.feed(None)
                yield from _feed_steps(stream, reader.read_waiting())
                continue
            if item is _TurnSignal.END:
                break
            if isinstance(item, _AskedPermission):
                steps, permission = reader.read_permission(
                    item.id, self.id, item.call, item.options
                )
                yield from _feed_steps(stream, steps)
                if self.reads_only and permission.danger != "reads":
                    self.answer_permission(permission.id, allowed=False, option_id="")
                else:
                    ask(permission)
                continue
            steps = list(reader.read(item))
            grown += sum(len(getattr(step, "text", "")) for step in steps)
            if grown > MAX_MESSAGE_CHARACTERS:
                grown = 0
                steps.append(RoundStarted(0))
            yield from _feed_steps(stream, steps)
        yield from _feed_steps(stream, reader.finish())
        yield from stream.flush()


def _feed_steps(stream: AgentMessageStream, steps: Iterable[AcpStep]) -> Iterator[AgentUpdate]:
    for step in steps:
        if isinstance(step, PlanUpdated):
            yield step
        else:
            yield from stream.feed(step)


def choose_option(
    options: Sequence[schema.PermissionOption], *, allowed: bool, option_id: str
) -> str | None:
    """Return the option of an answer; None, which is ``cancelled``, if none says so."""
    if any(option.option_id == option_id for option in options):
        return option_id
    kinds = ("allow_once", "allow_always") if allowed else ("reject_once", "reject_always")
    by_kind = {str(option.kind): option.option_id for option in reversed(options)}
    return next((by_kind[kind] for kind in kinds if kind in by_kind), None)


def _convert_servers(servers: Sequence[McpServerCommand]) -> list[schema.McpServerStdio]:
    return [
        schema.McpServerStdio(
            name=server.name,
            command=server.command,
            args=list(server.args),
            env=[schema.EnvVariable(name=name, value=value) for name, value in server.env.items()],
        )
        for server in servers
    ]
