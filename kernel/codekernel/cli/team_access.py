"""The team of a command: the store of the settings, with the secrets of the vault."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from codekernel.domain.settings import SharingSettings
from codekernel.errors import ApiKeyNotFound, KernelError
from codekernel.packs.index_packs import IndexPacks
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


def delete_own_packs(team: Team) -> int:
    """Delete every pack that this machine has sent; return how many. Raises KernelError."""
    packs, owner = IndexPacks(team.open_store()), team.read_owner()
    own = packs.list_own(owner)
    for pack in own:
        packs.delete(pack)
    return len(own)


def count_packs(team: Team) -> tuple[int, int, float]:
    """Return how many packs there are, how many of this machine, and all their megabytes."""
    try:
        found, owner = IndexPacks(team.open_store()).list_packs(), team.read_owner()
    except KernelError:
        return 0, 0, 0.0
    own = sum(pack.owner == owner for pack in found)
    return len(found), own, sum(pack.size for pack in found) / 1e6
