"""What an agent is to the sync engine: document 004's AgentBackend, and the registry of kinds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from codekernel.domain.agent_sessions import PermissionMode, PermissionOption, PlanEntry
from codekernel.domain.chat import AgentMessage
from codekernel.errors import WrongParam


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
