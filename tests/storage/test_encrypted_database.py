from collections.abc import Callable
from pathlib import Path

import pytest
from codekernel.errors import StorageError, VaultUnavailable
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.encrypted_database import (
    MIGRATIONS,
    explain_sqlcipher_error,
    is_unreadable_error,
    migrate,
)
from codekernel.storage.vault.vault import Vault
from sqlcipher3 import dbapi2

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
    assert version(vault) == len(MIGRATIONS)


def test_an_older_vault_takes_only_the_missing_steps(vault: Vault) -> None:
    with vault.transaction() as database:
        database.execute("INSERT INTO api_key VALUES ('model', 'kept')")
    with vault.read_connection() as database:
        migrate(database, (*MIGRATIONS, ("CREATE TABLE later (x INTEGER)",)))
        assert database.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS) + 1,)
        assert database.execute("SELECT * FROM later").fetchall() == []
        assert database.execute("SELECT * FROM api_key").fetchall() == [("model", "kept")]


def test_a_step_that_fails_is_not_half_taken(vault: Vault) -> None:
    bad_step = ("CREATE TABLE later (x INTEGER)", "CREATE NONSENSE")
    with vault.read_connection() as database, pytest.raises(dbapi2.Error):
        migrate(database, (*MIGRATIONS, bad_step))
    assert "later" not in tables(vault)
    assert version(vault) == len(MIGRATIONS)


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


PATH = Path("/data/db/kernel.db")


def refusal(code: int) -> dbapi2.Error:
    error = dbapi2.OperationalError("near sk-secret")
    error.sqlite_errorcode = code
    error.sqlite_errorname = "SQLITE_SOMETHING"
    return error


@pytest.mark.parametrize(
    ("code", "phrase"),
    [
        (dbapi2.SQLITE_FULL, "the disk is full: free some space"),
        (dbapi2.SQLITE_BUSY, "another process is writing"),
        (dbapi2.SQLITE_LOCKED, "another process is writing"),
        (dbapi2.SQLITE_READONLY, "read-only"),
        (dbapi2.SQLITE_CANTOPEN, "must be able to read and write in"),
        (dbapi2.SQLITE_IOERR, "the disk failed"),
        (dbapi2.SQLITE_IOERR | 3 << 8, "the disk failed"),
        (dbapi2.SQLITE_SCHEMA, "SQLITE_SOMETHING"),
    ],
)
def test_each_refusal_names_the_vault_and_never_quotes(code: int, phrase: str) -> None:
    message = str(explain_sqlcipher_error(refusal(code), PATH))
    assert str(PATH) in message
    assert phrase in message
    assert "sk-secret" not in message


@pytest.mark.parametrize("code", [dbapi2.SQLITE_NOTADB, dbapi2.SQLITE_CORRUPT])
def test_a_file_that_cannot_be_read_says_how_to_go_on(code: int) -> None:
    assert is_unreadable_error(refusal(code))
    error = explain_sqlcipher_error(refusal(code), PATH)
    assert isinstance(error, VaultUnavailable)
    assert "Nothing was overwritten" in str(error)


def test_an_error_without_a_code_is_a_sentence_too() -> None:
    error = dbapi2.ProgrammingError("closed")
    assert not is_unreadable_error(error)
    assert isinstance(explain_sqlcipher_error(error, PATH), StorageError)
    assert "ProgrammingError" in str(explain_sqlcipher_error(error, PATH))
