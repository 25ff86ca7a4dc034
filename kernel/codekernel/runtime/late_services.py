"""Services that import much: each is imported when it is needed, after the kernel is ready."""

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from codekernel.domain.concurrency import CancelToken, Lazy, make_switch_interval_setter
from codekernel.runtime.workspaces import Workspaces
from codekernel.settings.live import LiveSettings, OfferedModels
from codekernel.storage.safe_files import remove_stale_temporaries
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import ApiKeys, Vault

if TYPE_CHECKING:  # costs a third of a second
    from codekernel.base.base_session import RepositoryBase
    from codekernel.conversation.conversations import Conversations
    from codekernel.indexing.index_plan import IndexPlan
    from codekernel.inference.model_pool import ModelPool
    from codekernel.packs.pack_opening import PackOpener
    from codekernel.remote.remote_models import RemoteModels
    from codekernel.search.remote_reranking import RemoteRerankers
    from codekernel.sharing.team import Team
    from codekernel.sharing.team_vectors import TeamVectors


@cache
def get_model_pool() -> "ModelPool":
    """The loaded models of the whole process."""
    from codekernel.inference.model_pool import ModelPool

    return ModelPool()


def open_conversations(
    user_data: UserData,
    vault: Vault,
    settings: LiveSettings,
    offered: OfferedModels,
) -> "Conversations":
    """The conversations of one userData folder; nothing is opened yet."""
    from codekernel.conversation import conversations  # a tenth of a second

    return conversations.open_conversations(
        user_data,
        vault,
        lambda: offered.extend(settings.current),
        offered.make_key_finder(lambda: settings.current, ApiKeys(vault).get),
        on_count_changed=make_switch_interval_setter(sys.getswitchinterval()),
    )


class TeamServices:
    """What open repositories have of their team and of remote models, opened when it is needed."""

    def __init__(
        self,
        user_data: UserData,
        settings: LiveSettings,
        keys: ApiKeys,
        environ: Mapping[str, str],
    ) -> None:
        def open_team() -> "Team":
            from codekernel.sharing.team import Team  # with the first repository

            return Team(user_data, lambda: settings.current.sharing, keys.get, environ)

        def open_packs() -> "PackOpener":
            from codekernel.packs.pack_opening import PackOpener

            return PackOpener(self._team(), user_data.sharing_folder)

        def open_remote() -> "RemoteRerankers":
            from codekernel.search import remote_reranking  # with the first

            return remote_reranking.open_remote_rerankers(
                user_data, keys.get, lambda: self._team().get_served_models()
            )

        self._settings, self._environ = settings, environ
        self.get_remote_rerankers = Lazy(open_remote)
        self._team, self._packs = Lazy(open_team), Lazy(open_packs)

    def get_vectors(self, model: str, dimensions: int) -> "TeamVectors | None":
        """Return the team's vectors of a model; a store that is not named is not imported."""
        is_shared = bool(self._settings.current.sharing.store)
        return self._team().get_vectors(model, dimensions) if is_shared else None

    def get_remote_models(self) -> "RemoteModels":
        """Return the models behind addresses."""
        return self.get_remote_rerankers().models

    def get_base_opener(self) -> "Callable[[Path], RepositoryBase | None] | None":
        """Return what opens the base of the settings for a repository; None if none is named."""
        sharing = self._settings.current.sharing
        if not sharing.store or not sharing.base:
            return None

        def open_base(root: Path) -> "RepositoryBase | None":
            from codekernel.base.base_opening import open_repository_base  # LanceDB

            return open_repository_base(root, self._team(), sharing.base, self._environ)

        return open_base

    def restore_index(
        self,
        root: Path,
        plan: "IndexPlan",
        folder: Path,
        cancel: CancelToken,
        report: Callable[[str], None],
    ) -> bool:
        """Write the index that the team has of a repository into a folder, if it has one."""
        is_shared = bool(self._settings.current.sharing.store)
        return is_shared and self._packs().restore(root, plan, folder, cancel, report)


def make_workspaces(
    user_data: UserData,
    settings: LiveSettings,
    keys: ApiKeys,
    environ: Mapping[str, str],
    get_linger_seconds: Callable[[], float],
) -> Workspaces:
    """The open repositories, which share the loaded models, the team's store and remote models."""
    team = TeamServices(user_data, settings, keys, environ)
    return Workspaces(user_data, settings, get_model_pool, get_linger_seconds, team)


def remove_unfinished_writes(user_data: UserData) -> None:
    """Remove the temporary files of kernels and agents that were killed."""
    from codekernel.agent.workspace.atomic_write import TemporaryFileLog  # after the start

    TemporaryFileLog.from_user_data(user_data.root).remove_stale()
    with suppress(OSError):
        remove_stale_temporaries(user_data.root)
