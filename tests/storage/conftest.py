"""A userData folder of its own for each test, vaults that are closed again, and no real keyring."""

from collections.abc import Callable, Iterator
from pathlib import Path

import keyring
import pytest
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import Vault
from keyring.backends import fail

KEY_HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f00112233445566778899aabbccddeeff1"

OpenVault = Callable[..., Vault]


@pytest.fixture(autouse=True)
def no_keyring() -> Iterator[None]:
    before = keyring.get_keyring()
    keyring.set_keyring(fail.Keyring())
    yield
    keyring.set_keyring(before)


@pytest.fixture
def user_data(tmp_path: Path) -> UserData:
    return UserData(tmp_path / "userData")


@pytest.fixture
def environ() -> dict[str, str]:
    return {"CODEKERNEL_VAULT_KEY": KEY_HEX}


@pytest.fixture
def open_vault(user_data: UserData, environ: dict[str, str]) -> Iterator[OpenVault]:
    opened: list[Vault] = []

    def make(*, key: str | None = None, owner: bool = True) -> Vault:
        chosen = environ if key is None else {"CODEKERNEL_VAULT_KEY": key}
        vault = Vault(user_data, chosen, may_quarantine=lambda: owner, busy_timeout_ms=20)
        opened.append(vault)
        return vault

    yield make
    for vault in opened:
        vault.close()


@pytest.fixture
def vault(open_vault: OpenVault) -> Vault:
    return open_vault()
