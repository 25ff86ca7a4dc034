"""A connection to one ACP agent: the official SDK's client over the agent's process.

The SDK needs an event loop; it runs on a thread of its own, and nothing of it is seen outside of
this package. Threads of the agent's process hand messages to it one by one, so that an agent that
floods us waits.
"""

import asyncio
import threading
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from acp import PROTOCOL_VERSION, Client, RequestError, connect_to_agent, schema
from acp.core import ClientSideConnection

from codekernel import __version__
from codekernel.adapters.acp.agent_process import (
    AgentProcess,
    JsonMessage,
    MessageTransport,
    run_on_loop,
)
from codekernel.errors import KernelError

_CONGESTION_POLL_SECONDS = 0.02

_CLOSE_TIMEOUT_SECONDS = 1.0

# What is translated; the rest need not be validated. A newer protocol may have more.
_READ_UPDATES = frozenset(
    {"agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"}
)

_UPDATE_METHOD = "session/update"

Result = TypeVar("Result")


class EventLoopThread:
    """An event loop on a thread of its own."""

    def __init__(self, name: str) -> None:
        self._is_ready = threading.Event()
        self._stop: asyncio.Event | None = None
        self.loop = cast("asyncio.AbstractEventLoop", None)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        self._is_ready.wait()

    def submit(self, work: Coroutine[Any, Any, Result]) -> "Future[Result]":
        """Run a coroutine. Raises RuntimeError once the loop has ended."""
        return run_on_loop(work, self.loop)

    def stop(self) -> None:
        """End the loop; what runs on it is cancelled."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(cast("asyncio.Event", self._stop).set)
        self._thread.join()

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self.loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._is_ready.set()
        await self._stop.wait()


class SessionListener(Protocol):
    """Who is told of an agent's turn, on the event loop: it must not block."""

    def note_update(self, session: str, update: object) -> None:
        """Take an update."""

    def note_received(self, size: int) -> None:
        """Count the bytes of a message."""

    def is_congested(self) -> bool:
        """Return whether the agent should wait."""

    async def ask(
        self, session: str, call: schema.ToolCallUpdate, options: list[schema.PermissionOption]
    ) -> str | None:
        """Return the option that was chosen; None if the permission is cancelled."""


class AgentConnection:
    """One agent's process and what can be asked of it; every method may be used by any thread."""

    def __init__(
        self,
        process: AgentProcess,
        loop_thread: EventLoopThread,
        listener: SessionListener,
        start_timeout_seconds: float,
    ) -> None:
        self.process = process
        self._start_timeout_seconds = start_timeout_seconds
        self.capabilities = schema.AgentCapabilities()
        self._auth_methods: list[str] = []
        self._loop_thread = loop_thread
        self._connection = loop_thread.submit(self._connect(listener)).result()

    def initialize(self) -> None:
        """Exchange versions and capabilities. Raises KernelError."""
        answer = self.request(
            self._connection.initialize(
                protocol_version=PROTOCOL_VERSION,
                client_capabilities=schema.ClientCapabilities(
                    fs=schema.FileSystemCapabilities(read_text_file=False, write_text_file=False),
                    terminal=False,
                ),
                client_info=schema.Implementation(name="codekernel", version=__version__),
            ),
            self._start_timeout_seconds,
        )
        if answer.protocol_version != PROTOCOL_VERSION:
            raise KernelError(
                f"{self.process.name} speaks version {answer.protocol_version} of ACP, and"
                f" codekernel version {PROTOCOL_VERSION}: use another version of the agent."
            )
        self.capabilities = answer.agent_capabilities or self.capabilities
        self._auth_methods = [method.name for method in answer.auth_methods or []]

    def new_session(self, folder: Path, servers: list[schema.McpServerStdio]) -> str:
        """Begin a session. Raises KernelError."""
        work = self._connection.new_session(cwd=str(folder), mcp_servers=list(servers))
        return self.request(work, self._start_timeout_seconds).session_id

    def load_session(
        self, session: str, folder: Path, servers: list[schema.McpServerStdio]
    ) -> None:
        """Go on with a session. Raises KernelError."""
        work = self._connection.load_session(
            cwd=str(folder), session_id=session, mcp_servers=list(servers)
        )
        self.request(work, self._start_timeout_seconds)

    def begin_prompt(self, session: str, text: str) -> "Future[schema.PromptResponse]":
        """Send a prompt; the future has the answer at the end of the turn."""
        block = schema.TextContentBlock(type="text", text=text)
        return self._loop_thread.submit(self._connection.prompt(session_id=session, prompt=[block]))

    def send_cancel(self, session: str) -> None:
        """Tell the agent to stop, without waiting for it."""
        with suppress(RuntimeError):
            self._loop_thread.submit(self._connection.cancel(session_id=session))

    def request(self, work: Coroutine[Any, Any, Result], timeout_seconds: float) -> Result:
        """Wait for an answer. Raises KernelError if there is none."""
        future = self._loop_thread.submit(work)
        try:
            return future.result(timeout_seconds)
        except TimeoutError as error:
            future.cancel()
            raise KernelError(
                f"{self.process.name} has not answered for {timeout_seconds:.0f} seconds."
            ) from error
        except (Exception, CancelledError) as error:
            raise self.explain(error) from error

    def explain(self, error: BaseException) -> KernelError:
        """Return the error for a person."""
        name = self.process.name
        if not isinstance(error, RequestError):
            return KernelError(self.process.explain_end())
        details = error.data.get("details") if isinstance(error.data, dict) else error.data
        said = f"{error}: {details}" if details else str(error)
        if error.code == RequestError.auth_required().code:
            ways = f" ({', '.join(self._auth_methods)})" if self._auth_methods else ""
            return KernelError(
                f"{name} wants you to sign in first{ways}: run its program in a terminal once, or"
                f" give its key in settings.json (agents.env). It said: {said}"
            )
        return KernelError(f"{name} failed: {said}")

    def close(self) -> None:
        """End the agent."""
        with suppress(RuntimeError, CancelledError, TimeoutError):
            self._loop_thread.submit(self._connection.close()).result(_CLOSE_TIMEOUT_SECONDS)
        self.process.end()
        self._transport.join(_CLOSE_TIMEOUT_SECONDS)

    async def _connect(self, listener: SessionListener) -> ClientSideConnection:
        messages = _iterate_read(self.process, listener)
        self._transport = MessageTransport(
            messages, self.process.send, f"acp:read:{self.process.name}"
        )
        return connect_to_agent(cast("Client", _AgentClient(listener)), self._transport)


class _AgentClient:
    """The requests and notifications of an agent; the SDK refuses those that have no method."""

    def __init__(self, listener: SessionListener) -> None:
        self._listener = listener

    async def session_update(self, session_id: str, update: object, **_: Any) -> None:
        self._listener.note_update(session_id, update)

    async def request_permission(
        self,
        session_id: str,
        tool_call: schema.ToolCallUpdate,
        options: list[schema.PermissionOption],
        **_: Any,
    ) -> schema.RequestPermissionResponse:
        chosen = await self._listener.ask(session_id, tool_call, options)
        outcome: schema.DeniedOutcome | schema.AllowedOutcome = (
            schema.DeniedOutcome(outcome="cancelled")
            if chosen is None
            else schema.AllowedOutcome(outcome="selected", option_id=chosen)
        )
        return schema.RequestPermissionResponse(outcome=outcome)


def _iterate_read(process: AgentProcess, listener: SessionListener) -> Iterator[JsonMessage]:
    """Yield the messages that the SDK should see, as fast as they are taken."""
    for message, size in process.iter_messages():
        listener.note_received(size)
        while listener.is_congested():
            time.sleep(_CONGESTION_POLL_SECONDS)
        if _is_read(message):
            yield message


def _is_read(message: JsonMessage) -> bool:
    """Return whether the SDK should see a message: what it cannot read would fill the log."""
    method, number = message.get("method"), message.get("id")
    if number is not None and not isinstance(number, int | str):
        return False
    if method is None or "id" in message:
        return True
    params = message.get("params")
    update = params.get("update") if isinstance(params, dict) else None
    kind = update.get("sessionUpdate") if isinstance(update, dict) else None
    return method == _UPDATE_METHOD and isinstance(kind, str) and kind in _READ_UPDATES
