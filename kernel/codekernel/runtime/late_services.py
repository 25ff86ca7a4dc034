"""Services that import much: each is imported when it is needed, after the kernel is ready."""

import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from codekernel.domain.concurrency import Lazy, make_switch_interval_setter
from codekernel.domain.settings import Settings
from codekernel.runtime.workspaces import Workspaces
from codekernel.settings.live import LiveSettings
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import ApiKeys, Vault

if TYPE_CHECKING:  # costs a third of a second
    from codekernel.agent.turns import AgentTurns
    from codekernel.conversation.conversations import Conversations
    from codekernel.indexing.vector_index import GetTeamVectors
    from codekernel.inference.model_pool import ModelPool
    from codekernel.remote.remote_models import RemoteModels
    from codekernel.sharing.team import Team


def preload_modules() -> None:
    """Import what the first openRepo needs, before it arrives."""
    import_module("codekernel.runtime.workspace")


@cache
def get_model_pool() -> "ModelPool":
    """The loaded models of the whole process."""
    from codekernel.inference.model_pool import ModelPool  # noqa: PLC0415 - heavy, seldom needed

    return ModelPool()


def open_conversations(
    user_data: UserData, vault: Vault, settings: Callable[[], Settings]
) -> "Conversations":
    """The conversations of one userData folder; nothing is opened yet."""
    from codekernel.conversation import conversations  # noqa: PLC0415 - a tenth of a second

    return conversations.open_conversations(
        user_data,
        vault,
        settings,
        ApiKeys(vault).get,
        on_count_changed=make_switch_interval_setter(sys.getswitchinterval()),
    )


def make_workspaces(
    user_data: UserData,
    settings: LiveSettings,
    keys: ApiKeys,
    environ: Mapping[str, str],
    get_linger_seconds: Callable[[], float],
) -> Workspaces:
    """The open repositories; the team's store and remote models are opened when they are needed."""

    def open_remote_models() -> "RemoteModels":
        from codekernel.remote.remote_models import RemoteModels  # noqa: PLC0415 - with the first of them

        return RemoteModels(user_data, keys.get)

    return Workspaces(
        user_data,
        settings,
        get_model_pool,
        get_linger_seconds,
        get_team_vectors=make_team_vectors_getter(user_data, settings, keys, environ),
        get_remote_models=Lazy(open_remote_models),
    )


def make_team_vectors_getter(
    user_data: UserData, settings: LiveSettings, keys: ApiKeys, environ: Mapping[str, str]
) -> "GetTeamVectors":
    """Return what finds the team's vectors of a model; nothing is opened yet."""

    def open_team() -> "Team":
        from codekernel.sharing.team import Team  # noqa: PLC0415 - with the first repository

        return Team(user_data, lambda: settings.current.sharing, keys.get, environ)

    team = Lazy(open_team)
    return lambda model, dimensions: team().get_vectors(model, dimensions)


def remove_unfinished_writes(user_data: UserData) -> None:
    """Remove the temporary files of agents that were killed."""
    from codekernel.agent.workspace.atomic_write import TemporaryFileLog  # noqa: PLC0415 - after the start

    TemporaryFileLog.from_user_data(user_data.root).remove_stale()


def open_agent_turns(user_data: UserData, conversations: "Conversations") -> "AgentTurns":
    """The agents' turns in these conversations."""
    from codekernel.agent.turns import AgentTurns  # noqa: PLC0415 - with the first task

    return AgentTurns(user_data.root, conversations)
