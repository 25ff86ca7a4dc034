"""What the handlers of the main process work with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kernel.domain.cancel import CancelToken
from kernel.domain.hardware import Hardware
from kernel.sessions.supervisor import Supervisor
from kernel.sessions.workspaces import Workspaces
from kernel.settings.live import LiveSettings
from kernel.storage.api_keys import ApiKeys
from kernel.storage.repo_registry import RepoRegistry


class TryEndpoint(Protocol):
    """Makes one small call to a chat endpoint; raises TestFailed."""

    def __call__(self, *, model_name: str, url: str, api_key: str, cancel: CancelToken) -> None:
        """Return if the endpoint answered."""


@dataclass(frozen=True, slots=True)
class House:
    """The wired parts, as ``app.py`` put them together."""

    repos: RepoRegistry
    keys: ApiKeys
    settings: LiveSettings
    supervisor: Supervisor
    workspaces: Workspaces
    hardware: Callable[[], Hardware]
    try_endpoint: TryEndpoint
    stop: Callable[[], None]
    stopping: CancelToken
