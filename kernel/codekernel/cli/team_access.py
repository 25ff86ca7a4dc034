"""The team of a command: the store of the settings, with the secrets of the vault."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from codekernel.domain.settings import SharingSettings
from codekernel.errors import ApiKeyNotFound
from codekernel.sharing.team import Team
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import ApiKeys, CommandVault


@contextmanager
def open_team(user_data: UserData, settings: SharingSettings) -> Iterator[Team]:
    """Yield what a command shares; no vault is made for it."""
    vault = CommandVault(user_data, os.environ)

    def get_secret(name: str) -> str:
        if not user_data.database_file.exists():  # which reading would make
            raise ApiKeyNotFound(name)
        return ApiKeys(vault).get(name)

    try:
        yield Team(user_data, lambda: settings, get_secret, os.environ)
    finally:
        vault.close()
