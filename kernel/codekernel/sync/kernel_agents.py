"""The agents of a kernel: registers the kinds there are and opens the engine when it is needed."""

import logging
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from codekernel.agent.turns import AgentTurns
from codekernel.conversation.conversations import Conversations
from codekernel.conversation.repository_access import RepositoryAccess
from codekernel.domain.agent_sessions import (
    Actor,
    AgentKind,
    AgentSessionRecord,
    PermissionStatus,
    SessionPermission,
)
from codekernel.domain.concurrency import CancelToken, Lazy
from codekernel.domain.settings import OWN_AGENT, AgentCommand, ModelKind, Settings
from codekernel.domain.turn_events import PermissionRequested, PermissionSettled
from codekernel.errors import KernelError, StorageError
from codekernel.runtime.repo_folders import register_folder, require_repo_folder
from codekernel.runtime.workspaces import Workspaces
from codekernel.settings.live import LiveSettings, OfferedModels
from codekernel.settings.local_models import choose_model
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import RepoRegistry
from codekernel.sync.agents import AgentBackend, AgentRegistry, McpServerCommand
from codekernel.sync.conversation_turns import AgentHost, ConversationTurns
from codekernel.sync.database import SyncFolder
from codekernel.sync.engine import EngineServices, SyncEngine
from codekernel.sync.own_agent import OwnAgentBackend, OwnAgentServices
from codekernel.sync.question_turns import QuestionTurns
from codekernel.sync.turn_feed import TurnFeeds

logger = logging.getLogger(__name__)

# Makes the backend of a foreign agent. Raises KernelError.
OpenForeignAgent = Callable[[AgentCommand], AgentBackend]

# How often it is looked whether an earlier kernel's agents have ended.
_RECOVERY_INTERVAL_SECONDS = 1.0

# For a question that is stopped to save what was shown of its answer.
_QUESTIONS_CLOSE_TIMEOUT_SECONDS = 2.0

_NO_MODEL = "No chat model is set up: add one to conversationSettings.generationModel."


@dataclass(frozen=True, slots=True)
class KernelParts:
    """What agents need of the kernel; ``is_shared`` if it is the one kernel of its userData."""

    user_data: UserData
    repos: RepoRegistry
    workspaces: Workspaces
    settings: LiveSettings
    offered_models: OfferedModels
    conversations: Callable[[], Conversations]
    is_shared: bool
    on_idle: Callable[[], None]
    open_foreign_agent: OpenForeignAgent | None = None
    feeds: TurnFeeds = field(default_factory=TurnFeeds)


class KernelAgents:
    """The engine of a kernel, opened at its first use, and the questions that go on.

    Safe to use from any thread.
    """

    def __init__(self, parts: KernelParts) -> None:
        self.feeds = parts.feeds
        self._parts = parts
        self.turns = Lazy(lambda: AgentTurns(parts.user_data.root, parts.conversations()))
        self._folder = SyncFolder(parts.user_data.agent_folder)
        self._host = Lazy(self._open_host)
        self._in_memory = Lazy(lambda: self._make_host(is_private=True))
        self._questions = QuestionTurns(
            parts.conversations, self._open_repository, parts.feeds, parts.on_idle
        )
        self.windows = ConversationTurns(self._host, self._in_memory, self._questions, parts.feeds)

    def get_engine(self) -> SyncEngine:
        """Return the engine. Raises StorageError while an earlier kernel runs agents."""
        return self._host().engine

    def recover(self, stopping: CancelToken) -> None:
        """Go on with what an earlier kernel left, as soon as its agents have ended."""
        while self._folder.database_file.exists():
            try:
                self._host()
            except StorageError as error:
                logger.info("agents are not gone on with yet. %s", error)
            else:
                return
            if stopping.wait(_RECOVERY_INTERVAL_SECONDS):
                return

    def is_busy(self, *, is_retired: bool) -> bool:
        """Return whether the kernel must stay for an agent, or for an answer.

        In a retired one nobody answers a permission, so that it is not waited for.
        """
        return self._questions.is_busy or any(
            engine.runners.is_working if is_retired else engine.runners.is_busy
            for engine in self._list_engines()
        )

    def retire(self) -> None:
        """Leave what waits to a newer kernel."""
        for engine in self._list_engines():
            engine.runners.retire()

    def stop_folder(self, folder: Path, timeout_seconds: float) -> None:
        """Stop the agents and answers in a folder whose repository is deleted."""
        self._questions.stop_folder(folder, timeout_seconds)
        for engine in self._list_engines():
            engine.runners.stop_folder(folder, timeout_seconds)

    def close(self) -> None:
        """Interrupt the running turns and close the engine."""
        self._questions.close(_QUESTIONS_CLOSE_TIMEOUT_SECONDS)
        for engine in self._list_engines():
            engine.close()

    def _list_engines(self) -> list[SyncEngine]:
        """Return the engines that are open."""
        found: list[SyncEngine] = []
        for hosts in (self._host, self._in_memory):
            hosts.use_if_created(lambda host: found.append(host.engine))
        return found

    def _open_host(self) -> AgentHost:
        try:
            return self._make_host(is_private=False)
        except StorageError:
            if self._parts.is_shared:
                raise
        return self._make_host(is_private=True)

    def _choose_model(self) -> str:
        parts = self._parts
        settings = parts.offered_models.extend(parts.settings.current)
        return choose_model(settings, None)

    def _make_host(self, *, is_private: bool) -> AgentHost:
        parts = self._parts
        own = OwnAgentBackend(
            OwnAgentServices(
                self.turns,
                parts.conversations,
                self._open_repository,
                self._choose_model,
                parts.feeds,
            )
        )
        registry = AgentRegistry()
        self._register_kinds(registry, own, parts.settings.current)
        services = EngineServices(
            registry=registry,
            list_kinds=self._list_kinds,
            list_folders=lambda: [str(repo.path) for repo in parts.repos.list_all()],
            open_folder=self._register_folder,
            build_mcp_servers=self._build_mcp_servers,
            on_idle=parts.on_idle,
            on_permission=self._show_permission,
            on_deleted=self._delete_conversation,
            on_turn_end=self._end_feed,
        )
        engine = SyncEngine(self._folder, services, is_private=is_private)
        parts.settings.subscribe(lambda changed: self._register_kinds(registry, own, changed))
        return AgentHost(engine, own)

    def _register_kinds(
        self, registry: AgentRegistry, own: OwnAgentBackend, settings: Settings
    ) -> None:
        """Register our own agent and those of the settings: the one place where kinds are named."""
        registry.register(OWN_AGENT, lambda: own)
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
        own = AgentKind(
            OWN_AGENT, OWN_AGENT, is_own=True, models=models, unavailable=unavailable, can_undo=True
        )
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
    def _open_repository(self, folder: Path, *, is_mirrored: bool) -> Iterator[RepositoryAccess]:
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

    def _delete_conversation(self, record: AgentSessionRecord) -> None:
        """Delete the conversation of a session, if it is still there."""
        if record.agent == OWN_AGENT:
            with suppress(KernelError):
                self.turns().delete(record.conversation_id, Path(record.folder))

    def _end_feed(self, record: AgentSessionRecord) -> None:
        """Tell every window that the turn is done, now that the next one can begin."""
        feed = self.feeds.find(record.conversation_id) if record.agent == OWN_AGENT else None
        if feed:
            self.feeds.end(feed)

    def _show_permission(self, record: AgentSessionRecord, permission: SessionPermission) -> None:
        """Show in every window that a permission waits, or was answered."""
        feed = self.feeds.find(record.conversation_id) if record.agent == OWN_AGENT else None
        if feed is None:
            return
        if permission.status is PermissionStatus.PENDING:
            feed.show_permission(
                PermissionRequested(
                    permission.tool_use_id,
                    permission.tool,
                    permission.danger,
                    permission.arguments,
                )
            )
            return
        allowed = permission.status is PermissionStatus.APPROVED
        by = permission.answered_by or Actor("")
        feed.append(PermissionSettled(permission.tool_use_id, allowed, by.device, by.name))


def _bind(open_agent: OpenForeignAgent | None, agent: AgentCommand) -> Callable[[], AgentBackend]:
    if open_agent is None:
        raise AssertionError("kinds are registered only where they can be opened")
    return lambda: open_agent(agent)


def _explain_missing(command: str) -> str:
    return "" if shutil.which(command) else f"There is no program {command!r} on this machine."
