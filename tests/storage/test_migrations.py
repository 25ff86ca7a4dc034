from collections.abc import Callable

import pytest
from codekernel.errors import StorageError, VaultUnavailable
from codekernel.storage.user_data import UserData
from codekernel.storage.vault import encrypted_database
from codekernel.storage.vault.vault import Vault

OpenVault = Callable[..., Vault]


def tables(vault: Vault) -> set[str]:
    with vault.read_connection() as database:
        rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return {name for (name,) in rows}


def version(vault: Vault) -> int:
    with vault.read_connection() as database:
        row = database.execute("PRAGMA user_version").fetchone()
    assert row is not None
    return int(row[0])


def test_a_new_vault_has_every_table(vault: Vault) -> None:
    assert tables(vault) >= {"repository", "api_key", "usage"}
    assert version(vault) == len(encrypted_database.MIGRATIONS)


def test_an_older_vault_takes_only_the_missing_steps(
    open_vault: OpenVault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = open_vault()
    with vault.transaction() as database:
        database.execute("INSERT INTO api_key VALUES ('model', 'kept')")
    vault.close()
    monkeypatch.setattr(
        encrypted_database,
        "MIGRATIONS",
        (*encrypted_database.MIGRATIONS, ("CREATE TABLE later (x INTEGER)",)),
    )
    assert "later" in tables(vault)
    assert version(vault) == len(encrypted_database.MIGRATIONS)
    with vault.read_connection() as database:
        assert database.execute("SELECT * FROM api_key").fetchall() == [("model", "kept")]


def test_a_step_that_fails_is_not_half_taken(
    open_vault: OpenVault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = open_vault()
    before = version(vault)
    vault.close()
    with monkeypatch.context() as patch:
        bad_step = ("CREATE TABLE later (x INTEGER)", "CREATE NONSENSE")
        patch.setattr(encrypted_database, "MIGRATIONS", (*encrypted_database.MIGRATIONS, bad_step))
        with pytest.raises(StorageError):
            version(vault)
    assert "later" not in tables(vault)
    assert version(vault) == before


def test_a_vault_from_the_future_is_not_touched(user_data: UserData, vault: Vault) -> None:
    with vault.transaction() as database:
        database.execute("PRAGMA user_version = 99")
    vault.close()
    before = user_data.database_file.read_bytes()
    for _ in range(2):
        with (
            pytest.raises(VaultUnavailable, match="made by a newer codekernel"),
            vault.read_connection(),
        ):
            raise NotImplementedError
    assert user_data.database_file.read_bytes() == before
    assert not list(user_data.database_folder.glob("*unreadable*"))
