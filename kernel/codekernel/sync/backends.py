"""The running agents, one of each kind, and which session of the engine each of theirs is."""

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from codekernel.domain.agent_sessions import AgentSessionRecord
from codekernel.errors import KernelError
from codekernel.sync.agents import (
    AgentBackend,
    AgentRegistry,
    AgentUpdate,
    BackendPermission,
    ConfigurableBackend,
    McpServerCommand,
)

logger = logging.getLogger(__name__)

# Called with the session of the engine that asks.
OnPermission = Callable[[str, BackendPermission], None]


class BackendPool:
    """Starts agents when they are needed; safe to use from any thread."""

    def __init__(
        self,
        registry: AgentRegistry,
        build_mcp_servers: Callable[[Path], Sequence[McpServerCommand]],
        on_permission: OnPermission,
    ) -> None:
        self._registry = registry
        self._build_mcp_servers = build_mcp_servers
        self._on_permission = on_permission
        self._backends: dict[str, AgentBackend] = {}
        # By kind and the agent's own id; only those that the agent knows.
        self._sessions: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()

    def begin_session(self, kind: str, folder: Path) -> str:
        """Begin a session of an agent; return the agent's own id. Raises KernelError."""
        backend = self._get(kind)
        backend.initialize()
        return backend.new_session(folder, self._build_mcp_servers(folder))

    def connect(self, kind: str, own_id: str, session_id: str) -> None:
        """Record that the agent has a session, and whose it is."""
        with self._lock:
            self._sessions[(kind, own_id)] = session_id

    def resume_session(self, record: AgentSessionRecord, own_id: str) -> str:
        """Make sure that the agent runs and has a session; return its id, perhaps a new one.

        Raises KernelError.
        """
        kind, folder = record.agent, Path(record.folder)
        backend = self._get(kind)
        backend.initialize()
        with self._lock:
            is_known = (kind, own_id) in self._sessions
        if not is_known:
            servers = self._build_mcp_servers(folder)
            if not backend.load_session(own_id, folder, servers):
                own_id = backend.new_session(folder, servers)
            self.connect(kind, own_id, record.id)
        if isinstance(backend, ConfigurableBackend):
            backend.configure_session(
                own_id, model=record.model, permission_mode=record.permission_mode
            )
        return own_id

    def prompt(
        self, kind: str, own_id: str, text: str, on_update: Callable[[AgentUpdate], None]
    ) -> str:
        """Run a turn; return why it ended. Raises KernelError."""
        try:
            return self._get(kind).prompt(own_id, text, on_update)
        except Exception:
            self.forget_session(kind, own_id)  # the agent may have died
            raise

    def forget_session(self, kind: str, own_id: str) -> None:
        """Record that the agent may not have a session any more."""
        with self._lock:
            self._sessions.pop((kind, own_id), None)

    def cancel_prompt(self, kind: str, own_id: str) -> None:
        """Stop a turn, if one runs."""
        with self._lock:
            backend = self._backends.get(kind)
        if backend:
            backend.cancel_prompt(own_id)

    def respond(self, kind: str, permission_id: str, *, allowed: bool, option_id: str) -> None:
        """Tell an agent the answer to its permission."""
        with self._lock:
            backend = self._backends.get(kind)
        if backend:
            backend.respond_to_permission(permission_id, allowed=allowed, option_id=option_id)

    def close(self) -> None:
        """End every agent."""
        with self._lock:
            backends, self._backends = dict(self._backends), {}
            self._sessions.clear()
        for kind, backend in backends.items():
            try:
                backend.disconnect()
            except KernelError as error:
                logger.warning("the agent %s did not end in order: %s", kind, error)

    def _get(self, kind: str) -> AgentBackend:
        with self._lock:
            backend = self._backends.get(kind)
            if backend is None:
                backend = self._backends[kind] = self._registry.create(kind)
                backend.on_permission_request(lambda asked: self._route(kind, asked))
            return backend

    def _route(self, kind: str, asked: BackendPermission) -> None:
        with self._lock:
            session_id = self._sessions.get((kind, asked.session))
        if session_id is None:
            logger.warning("%s asks for a permission in a session that is unknown", kind)
            self.respond(kind, asked.id, allowed=False, option_id="")
        else:
            self._on_permission(session_id, asked)
