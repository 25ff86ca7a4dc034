"""AcpBackend: any agent that speaks ACP, as the sync engine sees an agent.

Each session has a process of its own, in its folder: an agent that dies, hangs or floods ends its
own session's turn alone.
"""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from codekernel.adapters.acp.agent_process import DEFAULT_AGENT_LIMITS, AgentLimits, find_program
from codekernel.adapters.acp.connection import EventLoopThread
from codekernel.adapters.acp.session import AcpSession, OnUpdate
from codekernel.adapters.acp.turn_changes import TurnRecorder
from codekernel.agent.workspace.processes import build_environment
from codekernel.domain.agent_sessions import PermissionMode
from codekernel.domain.settings import AgentCommand
from codekernel.errors import WrongParam
from codekernel.sync.agents import BackendPermission, McpServerCommand

_open_recorder = cache(TurnRecorder)  # one of each userData: agents may share a folder


def open_acp_backend(command: AgentCommand, user_data: Path) -> "AcpBackend":
    """Return the backend of an agent that the settings name."""
    return AcpBackend(command, _open_recorder(user_data))


class AcpBackend:
    """The ``AgentBackend`` of a program that speaks ACP."""

    def __init__(
        self,
        command: AgentCommand,
        recorder: TurnRecorder,
        limits: AgentLimits = DEFAULT_AGENT_LIMITS,
    ) -> None:
        self._command = command
        self._limits = limits
        self._recorder = recorder
        self._lock = threading.Lock()
        self._loop_thread: EventLoopThread | None = None
        self._sessions: dict[str, AcpSession] = {}
        self._on_permission: Callable[[BackendPermission], None] | None = None

    def initialize(self) -> None:
        """Find the agent's program; it is started with each session. Raises KernelError."""
        find_program(self._command, {**build_environment(os.environ), **self._command.env})

    def new_session(self, folder: Path, mcp_servers: Sequence[McpServerCommand] = ()) -> str:
        """Start the agent in a folder, begin a session and return its id. Raises KernelError."""
        session = self._start(folder, mcp_servers)
        session.begin()
        self._add(session)
        return session.id

    def load_session(
        self, session: str, folder: Path, mcp_servers: Sequence[McpServerCommand] = ()
    ) -> bool:
        """Start the agent and go on with an earlier session; false if it cannot."""
        started = self._start(folder, mcp_servers)
        if not started.load(session):
            return False
        self._add(started)
        return True

    def configure_session(
        self, session: str, *, model: str, permission_mode: PermissionMode
    ) -> None:
        """Set what is refused without asking; the model is chosen in the agent's own settings."""
        del model
        self._get(session).reads_only = permission_mode is PermissionMode.READ_ONLY

    def prompt(self, session: str, text: str, on_update: OnUpdate) -> str:
        """Run one turn; a second prompt waits for the first. Raises KernelError."""
        found = self._revive(session)
        with found.prompt_lock, self._recorder.record(self._command.name, found) as changes:
            try:
                return found.run_turn(text, on_update, self._ask)
            finally:
                for message in changes.build_messages():
                    on_update(message)

    def cancel_prompt(self, session: str) -> None:
        """Stop the running turn, if there is one."""
        self._get(session).cancel()

    def on_permission_request(self, handler: Callable[[BackendPermission], None]) -> None:
        """Set who is asked; without a handler everything is refused."""
        self._on_permission = handler

    def respond_to_permission(self, permission_id: str, *, allowed: bool, option_id: str) -> None:
        """Answer a permission; one that no longer waits is ignored."""
        with self._lock:
            sessions = list(self._sessions.values())
        for session in sessions:
            session.answer_permission(permission_id, allowed=allowed, option_id=option_id)

    def disconnect(self) -> None:
        """End every session and its process."""
        with self._lock:
            sessions, self._sessions = list(self._sessions.values()), {}
            loop_thread, self._loop_thread = self._loop_thread, None
        for session in sessions:
            session.cancel()
        with ThreadPoolExecutor(max_workers=max(1, len(sessions))) as pool:  # each takes seconds
            pool.map(lambda session: session.connection.close(), sessions)
        if loop_thread is not None:
            loop_thread.stop()

    def _start(self, folder: Path, servers: Sequence[McpServerCommand]) -> AcpSession:
        with self._lock:
            if self._loop_thread is None:
                self._loop_thread = EventLoopThread(f"acp:{self._command.name}")
            loop_thread = self._loop_thread
        return AcpSession(self._command, folder, servers, loop_thread, self._limits)

    def _add(self, session: AcpSession) -> None:
        with self._lock:
            replaced = self._sessions.get(session.id)
            self._sessions[session.id] = session
            others = [each for each in self._sessions.values() if each is not session]
        idle = [each for each in others if not each.has_ended and each.can_be_ended]
        idle.sort(key=lambda each: each.last_used, reverse=True)
        for each in (*([replaced] if replaced else []), *idle[self._limits.max_idle_agents :]):
            each.connection.close()

    def _revive(self, session: str) -> AcpSession:
        """Return a session, whose agent was ended while it was idle if it can be loaded again."""
        found = self._get(session)
        if found.has_ended and found.can_be_ended:
            self.load_session(session, found.folder, found.servers)
        return self._get(session)

    def _get(self, session: str) -> AcpSession:
        with self._lock:
            found = self._sessions.get(session)
        if found is None:
            raise WrongParam(f"There is no session {session[:80]!r}.")
        return found

    def _ask(self, permission: BackendPermission) -> None:
        if self._on_permission is None:
            self.respond_to_permission(permission.id, allowed=False, option_id="")
        else:
            self._on_permission(permission)
