"""The agents of a kernel: registers the kinds there are and opens the engine when it is needed."""

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from codekernel.agent.turns import AgentTurns
from codekernel.conversation.conversations import Conversations
from codekernel.conversation.retriever import RepositoryAccess
from codekernel.domain.agent_sessions import (
    OWN_AGENT,
    AgentKind,
    AgentSessionRecord,
    PermissionStatus,
    SessionPermission,
)
from codekernel.domain.concurrency import Lazy
from codekernel.domain.settings import AgentCommand, ModelKind, Settings
from codekernel.domain.turn_events import PermissionSettled
from codekernel.errors import StorageError
from codekernel.runtime.repo_folders import register_folder, require_repo_folder
from codekernel.runtime.workspaces import Workspaces
from codekernel.settings.chat_models import choose_model
from codekernel.settings.live import LiveSettings
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import RepoRegistry
from codekernel.sync.agents import AgentBackend, AgentRegistry, McpServerCommand
from codekernel.sync.database import SyncFolder
from codekernel.sync.engine import EngineServices, SyncEngine
from codekernel.sync.own_agent import OwnAgentBackend, OwnAgentServices
from codekernel.sync.turn_feed import TurnFeeds

# Makes the backend of a foreign agent. Raises KernelError.
OpenForeignAgent = Callable[[AgentCommand], AgentBackend]

_NO_MODEL = "No chat model is set up: add one to conversationSettings.generationModel."


@dataclass(frozen=True, slots=True)
class KernelParts:
    """What agents need of the kernel; ``is_shared`` if it is the one kernel of its userData."""

    user_data: UserData
    repos: RepoRegistry
    workspaces: Workspaces
    settings: LiveSettings
    conversations: Callable[[], Conversations]
    turns: Callable[[], AgentTurns]
    is_shared: bool
    on_idle: Callable[[], None]
    open_foreign_agent: OpenForeignAgent | None = None
    feeds: TurnFeeds = field(default_factory=TurnFeeds)


class KernelAgents:
    """The engine of a kernel, opened at its first use; safe to use from any thread."""

    def __init__(self, parts: KernelParts) -> None:
        self.feeds = parts.feeds
        self._parts = parts
        self._folder = SyncFolder(parts.user_data.agent_folder)
        self._own = OwnAgentBackend(
            OwnAgentServices(
                parts.turns,
                parts.conversations,
                self._open_repository,
                lambda: choose_model(parts.settings.current, None, parts.user_data.settings_file),
                parts.feeds,
            )
        )
        self._engine = Lazy(self._open_engine)

    def get_engine(self) -> SyncEngine:
        """Return the engine. Raises StorageError while an earlier kernel runs agents."""
        return self._engine()

    @property
    def is_busy(self) -> bool:
        """Whether an agent works, or waits for a permission."""
        found: list[bool] = []
        self._engine.use_if_created(lambda engine: found.append(engine.is_busy))
        return any(found)

    def close(self) -> None:
        """Interrupt the running turns and close the engine."""
        self._engine.use_if_created(lambda engine: engine.close())

    def _open_engine(self) -> SyncEngine:
        parts = self._parts
        registry = AgentRegistry()
        self._register_kinds(registry, parts.settings.current)
        parts.settings.subscribe(lambda changed: self._register_kinds(registry, changed))
        services = EngineServices(
            registry=registry,
            list_kinds=self._list_kinds,
            list_folders=lambda: [str(repo.path) for repo in parts.repos.list_all()],
            open_folder=self._register_folder,
            build_mcp_servers=self._build_mcp_servers,
            on_idle=parts.on_idle,
            on_settled=self._show_settled,
        )
        try:
            return SyncEngine(self._folder, services)
        except StorageError:
            if parts.is_shared:
                raise
        return SyncEngine(self._folder, services, is_private=True)

    def _register_kinds(self, registry: AgentRegistry, settings: Settings) -> None:
        """Register our own agent and those of the settings: the one place where kinds are named."""
        registry.register(OWN_AGENT, lambda: self._own)
        open_agent = self._parts.open_foreign_agent
        for agent in settings.agents if open_agent else ():
            registry.register(agent.name, _bind(open_agent, agent))

    def _list_kinds(self) -> Sequence[AgentKind]:
        settings = self._parts.settings.current
        models = (
            *(model.name for model in settings.generation_models),
            *(model.name for model in settings.local_models if model.kind is ModelKind.GENERATION),
        )
        unavailable = "" if models else _NO_MODEL
        own = AgentKind(OWN_AGENT, OWN_AGENT, True, models, unavailable, can_undo=True)  # noqa: FBT003
        foreign = (
            AgentKind(
                agent.name, agent.name, is_own=False, unavailable=_explain_missing(agent.command)
            )
            for agent in settings.agents
        )
        return (own, *foreign) if self._parts.open_foreign_agent else (own,)

    def _register_folder(self, path: str) -> Path:
        repo = register_folder(Path(path), self._parts.repos, self._parts.workspaces)
        require_repo_folder(repo)
        return repo.path

    @contextmanager
    def _open_repository(self, folder: Path, is_mirrored: bool) -> Iterator[RepositoryAccess]:  # noqa: FBT001 - as OpenRepository
        """Open the repository of a folder, and its index, for the duration of a turn."""
        parts = self._parts
        repo = register_folder(folder, parts.repos, parts.workspaces, keep=False)
        require_repo_folder(repo)
        with parts.workspaces.acquire(repo) as workspace:
            workspace.index.start(parts.workspaces.build_plan())
            yield workspace.build_repository_access(has_mirror=is_mirrored)

    def _build_mcp_servers(self, folder: Path) -> Sequence[McpServerCommand]:
        """Return our MCP server, by which every foreign agent can search the folder."""
        root = str(self._parts.user_data.root)
        args = ("-m", "codekernel", "mcp", "--repo", str(folder), "--user-data", root)
        return (McpServerCommand(OWN_AGENT, sys.executable, args),)

    def _show_settled(self, record: AgentSessionRecord, permission: SessionPermission) -> None:
        """Show in every window that a permission was answered."""
        feed = self.feeds.find(record.conversation_id) if record.agent == OWN_AGENT else None
        if feed:
            by = permission.answered_by
            feed.append(
                PermissionSettled(
                    permission.tool_use_id,
                    permission.status is PermissionStatus.APPROVED,
                    by.device if by else "",
                    by.name if by else "",
                )
            )


def _bind(open_agent: OpenForeignAgent | None, agent: AgentCommand) -> Callable[[], AgentBackend]:
    if open_agent is None:
        raise AssertionError("kinds are registered only where they can be opened")
    return lambda: open_agent(agent)


def _explain_missing(command: str) -> str:
    return "" if shutil.which(command) else f"There is no program {command!r} on this machine."
