"""What doctor finds out by asking others: the store of a team, and remote models."""

import os
from collections.abc import Iterator

from codekernel.domain.settings import Settings
from codekernel.errors import KernelError
from codekernel.remote.model_trial import try_model
from codekernel.remote.remote_models import RemoteModels
from codekernel.sharing.team import Team
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import ApiKeys, Vault


def examine_servers(
    settings: Settings, user_data: UserData, vault: Vault
) -> Iterator[tuple[bool, str]]:
    """Try the store, if there is one; send a probe without code to each remote model."""
    sharing, keys = settings.sharing, ApiKeys(vault)
    team = Team(user_data, lambda: sharing, keys.get, os.environ)
    if sharing.store:
        problem = team.try_store()
        yield bool(problem), f"sharing: {problem or f'{sharing.store} works, {sharing.mode.value}'}"
    models = RemoteModels(user_data, keys.get, team.get_served_models)
    for model in settings.local_models:
        if not model.remote:
            continue
        try:
            yield False, f"remote model {model.name}: {try_model(models, model)}"
        except KernelError as error:
            yield True, f"remote model {model.name}: {error}"
