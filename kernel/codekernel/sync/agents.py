"""What an agent is to the sync engine: AgentBackend, the registry of kinds, the running agents."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from codekernel.domain.agent_sessions import (
    AgentSessionRecord,
    PermissionMode,
    PermissionOption,
    PlanEntry,
)
from codekernel.domain.chat import AgentMessage
from codekernel.errors import KernelError, WrongParam

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class McpServerCommand:
    """An MCP server that an agent starts for itself, ours among them."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlanUpdated:
    """The agent's plan, whole."""

    entries: tuple[PlanEntry, ...]


@dataclass(frozen=True, slots=True)
class UsageUpdated:
    """Tokens that a turn has used so far."""

    input_tokens: int
    output_tokens: int


# A message that grows is repeated, longer, with the same ``meta.id``, until ``meta.complete``.
AgentUpdate = AgentMessage | PlanUpdated | UsageUpdated


@dataclass(frozen=True, slots=True)
class BackendPermission:
    """A permission that an agent waits for; without ``options`` it is answered by yes or no."""

    id: str
    session: str
    tool: str
    arguments: Mapping[str, Any]
    danger: str = ""
    options: tuple[PermissionOption, ...] = ()
    tool_use_id: str = ""


class AgentBackend(Protocol):
    """An agent with any number of sessions; safe to use from several threads."""

    def initialize(self) -> None:
        """Start the agent, if it is not running. Raises KernelError that says what to do."""

    def new_session(self, folder: Path, mcp_servers: Sequence[McpServerCommand] = ()) -> str:
        """Begin a session in a folder and return the agent's own id of it."""

    def load_session(
        self, session: str, folder: Path, mcp_servers: Sequence[McpServerCommand] = ()
    ) -> bool:
        """Go on with an earlier session; false if the agent cannot."""

    def prompt(self, session: str, text: str, on_update: Callable[[AgentUpdate], None]) -> str:
        """Run one turn and return why it ended: ``end_turn``, ``cancelled``, ``refusal``, ...

        Raises KernelError if the agent fails or dies.
        """

    def cancel_prompt(self, session: str) -> None:
        """Stop the running turn, if there is one; its open permissions are cancelled."""

    def on_permission_request(self, handler: Callable[[BackendPermission], None]) -> None:
        """Set who is asked; without a handler everything is refused."""

    def respond_to_permission(self, permission_id: str, *, allowed: bool, option_id: str) -> None:
        """Answer a permission; one that no longer waits is ignored."""

    def disconnect(self) -> None:
        """End every session and the agent itself."""


@runtime_checkable
class ConfigurableBackend(Protocol):
    """An agent whose sessions have a model and a permission mode."""

    def configure_session(
        self, session: str, *, model: str, permission_mode: PermissionMode
    ) -> None:
        """Set what the next prompt of a session uses; an empty model is the agent's choice."""


BackendFactory = Callable[[], AgentBackend]


class AgentRegistry:
    """Creates agents by kind: ``register("opencode", ...)``, then ``create("opencode")``."""

    def __init__(self) -> None:
        self._factories: dict[str, BackendFactory] = {}

    def register(self, kind: str, factory: BackendFactory) -> None:
        """Register a kind of agent; a later registration replaces an earlier one."""
        if not kind.strip():
            raise WrongParam("An agent needs a name to be registered under.")
        self._factories[kind] = factory

    # The document's name for it.
    register_backend = register

    @property
    def kinds(self) -> list[str]:
        """The registered kinds, in the order of their registration."""
        return list(self._factories)

    def create(self, kind: str) -> AgentBackend:
        """Create an agent of a kind. Raises WrongParam if it is not registered."""
        return self.require(kind)()

    def require(self, kind: str) -> BackendFactory:
        """Return the factory of a kind. Raises WrongParam if it is not registered."""
        factory = self._factories.get(kind)
        if factory is None:
            known = ", ".join(self.kinds) or "none"
            raise WrongParam(f"No agent called {kind[:80]!r} is registered; there are: {known}.")
        return factory


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
        with ExitStack() as failing:
            failing.callback(self.forget_session, kind, own_id)  # the agent may have died
            reason = self._get(kind).prompt(own_id, text, on_update)
            failing.pop_all()
        return reason

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
