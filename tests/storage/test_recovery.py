"""A database of an earlier PocketRAG: plain SQLite, its repositories and keys are taken over."""

import os
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.opening import list_vault_notes
from codekernel.storage.vault.tables import ApiKeys, RepoRegistry
from codekernel.storage.vault.vault import Vault


def make_pocketrag(path: Path, *, rows: int = 2, wal_only: bool = False) -> None:
    """As its kernel leaves it; with ``wal_only`` as a killed one does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.parent.parent / "made" / path.name
    made.parent.mkdir()
    database = sqlite3.connect(made)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute(
        "CREATE TABLE repository (id INTEGER PRIMARY KEY AUTOINCREMENT,"
        " repo_name TEXT UNIQUE NOT NULL, repo_path TEXT NOT NULL)"
    )
    database.execute(
        "CREATE TABLE generation_model (id INTEGER PRIMARY KEY AUTOINCREMENT,"
        " model_name TEXT UNIQUE NOT NULL, api_key TEXT)"
    )
    for number in range(rows):
        database.execute(
            "INSERT INTO repository (repo_name, repo_path) VALUES (?, ?)",
            (f"repo{number}", f"/code/\u4ed3\u5e93/repo{number}"),
        )
        database.execute(
            "INSERT INTO generation_model (model_name, api_key) VALUES (?, ?)",
            (f"model{number}", f"sk-{number}" * 50),
        )
    database.execute("INSERT INTO generation_model (model_name, api_key) VALUES ('empty', '')")
    database.commit()
    if not wal_only:
        database.close()
    for file in made.parent.iterdir():
        shutil.copyfile(file, path.with_name(file.name))
    database.close()


def aside_of(user_data: UserData) -> dict[str, Path]:
    found = sorted(user_data.database_folder.glob("kernel.db.pocketrag-*"))
    return {path.name.removeprefix(found[0].name): path for path in found}


@pytest.mark.parametrize("wal_only", [False, True])
def test_repositories_and_keys_are_taken_over_and_the_file_is_kept_aside(
    user_data: UserData, vault: Vault, caplog: pytest.LogCaptureFixture, *, wal_only: bool
) -> None:
    make_pocketrag(user_data.database_file, wal_only=wal_only)
    before = user_data.database_file.read_bytes()
    repos = RepoRegistry(vault).list_all()
    assert [(repo.name, repo.path) for repo in repos] == [
        ("repo0", Path("/code/\u4ed3\u5e93/repo0")),
        ("repo1", Path("/code/\u4ed3\u5e93/repo1")),
    ]
    keys = ApiKeys(vault)
    assert keys.get("model1") == "sk-1" * 50
    assert not keys.has("empty")
    aside = aside_of(user_data)
    assert aside[""].read_bytes() == before
    assert ("-wal" in aside) is wal_only
    if os.name != "nt":
        assert {stat.S_IMODE(path.stat().st_mode) for path in aside.values()} == {0o600}
    assert "2 repositories and 2 API keys of an earlier PocketRAG were taken over" in caplog.text
    assert "plain text" in caplog.text
    assert "sk-1" not in caplog.text
    assert b"sk-1" not in user_data.database_file.read_bytes()
    (note,) = list_vault_notes(user_data)
    assert aside[""].name in note
    assert "plain text" in note


def test_it_is_taken_over_once(user_data: UserData, vault: Vault) -> None:
    make_pocketrag(user_data.database_file)
    RepoRegistry(vault).remove("repo0")
    ApiKeys(vault).set("model0", "")
    vault.close()
    assert [repo.name for repo in RepoRegistry(vault).list_all()] == ["repo1"]
    assert not ApiKeys(vault).has("model0")


def test_a_truncated_one_gives_what_it_still_has(user_data: UserData, vault: Vault) -> None:
    make_pocketrag(user_data.database_file, rows=200)
    content = user_data.database_file.read_bytes()
    user_data.database_file.write_bytes(content[: len(content) // 2])
    found = RepoRegistry(vault).list_all()
    assert all(repo.name.startswith("repo") for repo in found)
    RepoRegistry(vault).add("new", Path("/code/new"))


def test_plain_sqlite_of_another_program_is_only_quarantined(
    user_data: UserData, vault: Vault
) -> None:
    user_data.database_folder.mkdir(parents=True)
    other = sqlite3.connect(user_data.database_file)
    other.execute("CREATE TABLE songs (name)")
    other.commit()
    other.close()
    assert RepoRegistry(vault).list_all() == []
    assert len(list(user_data.database_folder.glob("kernel.db.unreadable-*"))) == 1


def test_one_of_pocketrag_with_wrong_columns_is_no_obstacle(
    user_data: UserData, vault: Vault
) -> None:
    user_data.database_folder.mkdir(parents=True)
    other = sqlite3.connect(user_data.database_file)
    other.execute("CREATE TABLE repository (repo_name, something)")
    other.execute("CREATE TABLE generation_model (model_name, api_key)")
    other.execute("INSERT INTO generation_model VALUES (7, x'00')")
    other.execute("INSERT INTO generation_model VALUES ('good', 'key')")
    other.commit()
    other.close()
    assert RepoRegistry(vault).list_all() == []
    assert ApiKeys(vault).get("good") == "key"
