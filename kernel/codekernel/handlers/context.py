"""What handlers share: the services, the two routers, the end of a stream."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from codekernel.dispatch.routing import Router, StreamTerminator
from codekernel.domain.concurrency import CancelToken, Lazy
from codekernel.domain.settings import Hardware
from codekernel.protocol.messages.agent_sessions import FollowingEnded
from codekernel.protocol.messages.kernel import KernelInfo, KernelStatus
from codekernel.runtime.sessions import Session, SessionSupervisor
from codekernel.runtime.workspaces import Workspaces
from codekernel.settings.live import LiveSettings, OfferedModels
from codekernel.storage.vault.vault import ApiKeys, RepoRegistry

if TYPE_CHECKING:  # a third of a second, which the first task can wait for
    from codekernel.sync.kernel_agents import KernelAgents


@dataclass(frozen=True, slots=True)
class KernelControl:
    """What a client may ask about the kernel as a whole."""

    info: KernelInfo
    get_status: Callable[[], KernelStatus]
    # The names of the clients that have a repository open, by its id.
    find_open_repos: Callable[[], dict[int, list[str]]]
    stop: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Services:
    """The services of the kernel for one client, built by app/.

    ``stop``, ``stopping`` and ``watch_repos`` are about this client alone.
    """

    repos: RepoRegistry
    keys: ApiKeys
    settings: LiveSettings
    offered_models: OfferedModels
    supervisor: SessionSupervisor
    workspaces: Workspaces
    hardware: Callable[[], Hardware]
    stop: Callable[[], None]
    stopping: CancelToken
    watch_repos: Callable[[], None]
    control: KernelControl
    agents: "Lazy[KernelAgents]"


main_router: Router[Services] = Router()

session_router: Router[Session] = Router()

FOLLOWING_END = StreamTerminator(
    refusal_part=FollowingEnded(), is_end=lambda part: isinstance(part, FollowingEnded)
)
