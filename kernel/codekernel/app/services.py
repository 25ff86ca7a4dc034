"""The services of one kernel; those that are heavy are opened at their first use."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from codekernel.domain.concurrency import Lazy
from codekernel.domain.settings import AgentCommand
from codekernel.inference.providers import detect_hardware
from codekernel.runtime import late_services
from codekernel.runtime.sessions import SessionServices, SessionTable
from codekernel.settings.live import LiveSettings, OfferedModels
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import ApiKeys, RepoRegistry, UsageLedger, Vault

if TYPE_CHECKING:  # costs a third of a second
    from codekernel.sync.agents import AgentBackend
    from codekernel.sync.kernel_agents import KernelAgents


@dataclass(frozen=True, slots=True)
class KernelHooks:
    """What the services ask and tell the kernel that they belong to.

    ``is_shared`` if it is the one kernel of its userData; ``owns_user_data`` if no other one serves
    the folder now.
    """

    is_shared: bool
    owns_user_data: Callable[[], bool]
    get_linger_seconds: Callable[[], float]
    on_repos_changed: Callable[[], None]
    on_agents_idle: Callable[[], None]


class KernelServices:
    """What the clients of one userData folder share; nothing is opened or read yet."""

    def __init__(self, user_data: UserData, environ: Mapping[str, str], hooks: KernelHooks) -> None:
        self.user_data = user_data
        self.vault = Vault(user_data, environ, may_quarantine=hooks.owns_user_data)
        self.repos = RepoRegistry(self.vault, hooks.on_repos_changed)
        self.keys = ApiKeys(self.vault)
        self.settings = settings = LiveSettings(
            user_data.settings_file,
            user_data.modified_settings_file,
            self.keys.has,
            detect_hardware,
        )
        self.workspaces = late_services.make_workspaces(
            user_data, settings, self.keys, environ, hooks.get_linger_seconds
        )
        self.offered_models = offered = OfferedModels()
        self.conversations = Lazy(
            lambda: late_services.open_conversations(user_data, self.vault, settings, offered)
        )
        self.agents = Lazy(lambda: self._open_agents(hooks))
        self.sessions = SessionTable()
        self.of_sessions = SessionServices(
            self.workspaces,
            settings,
            UsageLedger(self.vault),
            self.conversations,
            lambda: self.agents().turns(),
            lambda: self.agents().windows,
        )

    def _open_agents(self, hooks: KernelHooks) -> "KernelAgents":
        from codekernel.sync.kernel_agents import KernelAgents, KernelParts  # noqa: PLC0415 - with the first task

        return KernelAgents(
            KernelParts(
                self.user_data,
                self.repos,
                self.workspaces,
                self.settings,
                self.offered_models,
                self.conversations,
                is_shared=hooks.is_shared,
                on_idle=hooks.on_agents_idle,
                open_foreign_agent=self._open_foreign_agent,
            )
        )

    def _open_foreign_agent(self, command: AgentCommand) -> "AgentBackend":
        from codekernel.adapters.acp.backend import open_acp_backend  # noqa: PLC0415 - the SDK: 34 MB

        return open_acp_backend(command, self.user_data.root)
