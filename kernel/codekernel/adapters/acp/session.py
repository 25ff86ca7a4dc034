"""A session of an ACP agent with its process: runs turns, asks permissions, is cancelled.

What the agent tells comes on the event loop; the thread that waits for the end of a turn takes it
from there, in its order.
"""

import asyncio
import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from acp import schema

from codekernel.adapters.acp.agent_process import AgentLimits, AgentProcess
from codekernel.adapters.acp.connection import AgentConnection, EventLoopThread
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


# More are refused: no person answers them.
MAX_OPEN_PERMISSIONS = 16

STOP_CANCELLED = "cancelled"

OnUpdate = Callable[[AgentUpdate], None]


@dataclass(slots=True)
class _OpenPermission:
    """A permission that waits, on the event loop."""

    options: list[schema.PermissionOption]
    chosen: "asyncio.Future[str | None]"


class AcpSession:
    """A session and its process. What the SDK tells comes on the event loop."""

    def __init__(
        self,
        command: AgentCommand,
        folder: Path,
        servers: Sequence[McpServerCommand],
        loop_thread: EventLoopThread,
        limits: AgentLimits,
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
        self._limits = limits
        self._turn: AcpTurn | None = None
        self._open: dict[str, _OpenPermission] = {}
        self.connection = AgentConnection(
            AgentProcess(command, folder), loop_thread, self, limits.start_timeout_seconds
        )
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
            self._turn.put(update)

    def note_received(self, size: int) -> None:
        """Count what the agent sends in a turn, and end it if that is too much."""
        turn = self._turn
        if turn is None:
            return
        turn.received_bytes += size
        if turn.received_bytes > self._limits.max_turn_bytes:
            self.connection.process.fail(f"it sent {turn.received_bytes:,} bytes in one turn")

    def is_congested(self) -> bool:
        """Return whether the agent should wait until its updates are taken."""
        return self._turn is not None and self._turn.is_congested

    async def ask(
        self, session: str, call: schema.ToolCallUpdate, options: list[schema.PermissionOption]
    ) -> str | None:
        """Wait for the answer to a permission, and return the option that was chosen."""
        turn = self._turn
        is_refused = len(self._open) >= MAX_OPEN_PERMISSIONS
        if turn is None or turn.is_cancelled or session != self.id or is_refused:
            return None
        # Never the name of an earlier one: a session that is loaded again keeps its log.
        name = f"{self.id[:40]}-{secrets.token_hex(4)}"
        waiting = _OpenPermission(options, asyncio.get_running_loop().create_future())
        self._open[name] = waiting
        turn.put(AskedPermission(name, call, options))
        try:
            return await waiting.chosen
        finally:
            self._open.pop(name, None)

    def run_turn(
        self, text: str, on_update: OnUpdate, ask: Callable[[BackendPermission], None]
    ) -> str:
        """Run a turn and return its stop reason. Raises KernelError."""
        turn = self._turn = AcpTurn(self.id, self._limits)
        answer = self.connection.begin_prompt(self.id, text)
        answer.add_done_callback(lambda _: turn.end())
        try:
            for update in turn.iterate_updates(lambda asked: self._ask(asked, ask)):
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
            if not answer.done():  # whoever takes the updates has failed
                self.connection.send_cancel(self.id)
            answer.cancel()
            self.cancel_permissions()

    def _take_answer(
        self, answer: "Future[schema.PromptResponse]", turn: AcpTurn
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
            turn.cancel()
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

    def _ask(self, permission: BackendPermission, ask: Callable[[BackendPermission], None]) -> None:
        if self.reads_only and permission.danger != "reads":
            self.answer_permission(permission.id, allowed=False, option_id="")
        else:
            ask(permission)


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
