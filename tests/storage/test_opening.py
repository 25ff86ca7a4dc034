"""Vaults that cannot be read: wrong keys, damage, lost files. Nothing is ever overwritten."""

import os
import random
import shutil
import sqlite3
import stat
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from codekernel.errors import ApiKeyNotFound, VaultUnavailable
from codekernel.storage.process_lock import ProcessLock
from codekernel.storage.quarantine import PENDING_LABEL, quarantine_database
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.opening import list_vault_notes
from codekernel.storage.vault.vault import ApiKeys, RepoRegistry, UsageLedger, Vault
from storage.vault_contents import (
    WRONG_KEY,
    OpenVault,
    crash_with_rows_in_the_wal,
    names,
    put,
    quarantined_files,
    quarantined_files_count,
)
from support.effort import choose_tries

posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX modes, names and limits")


def test_the_wrong_key_sets_everything_aside_untouched(
    user_data: UserData,
    open_vault: OpenVault,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    crash_with_rows_in_the_wal(user_data, open_vault())
    found = {
        suffix: user_data.database_file.with_name(f"kernel.db{suffix}").read_bytes()
        for suffix in ("", "-wal")
    }
    assert names(open_vault(key=WRONG_KEY)) == []
    aside = quarantined_files(user_data)
    assert set(aside) == {"", "-wal", "-shm"}
    assert {suffix: aside[suffix].read_bytes() for suffix in found} == found
    for part in (
        "the key from CODEKERNEL_VAULT_KEY",
        "wrong key, or the file is damaged",
        aside[""].name,
        "Nothing was overwritten",
        "entered again",
    ):
        assert part in caplog.text
    assert WRONG_KEY not in caplog.text
    assert capfd.readouterr() == ("", "")


def test_after_the_wrong_key_there_is_a_vault_to_write_to(
    user_data: UserData, open_vault: OpenVault
) -> None:
    first = open_vault()
    put(first, "a")
    first.close()
    vault = open_vault(key=WRONG_KEY)
    put(vault, "new")
    assert names(vault) == ["new"]
    assert len(list(user_data.database_folder.glob("*.unreadable-*"))) == 1


def test_renaming_back_brings_every_row_back(user_data: UserData, open_vault: OpenVault) -> None:
    crash_with_rows_in_the_wal(user_data, open_vault())
    wrong = open_vault(key=WRONG_KEY)
    put(wrong, "meanwhile")
    wrong.close()
    for suffix, path in quarantined_files(user_data).items():
        path.replace(user_data.database_file.with_name(f"kernel.db{suffix}"))
    assert names(open_vault()) == ["in the database", "in the wal"]


def test_a_database_another_kernel_may_be_using_stays(
    user_data: UserData, open_vault: OpenVault
) -> None:
    first = open_vault()
    put(first, "a")
    first.close()
    stranger = open_vault(key=WRONG_KEY, owner=False)
    for _ in range(2):
        with pytest.raises(VaultUnavailable, match="another codekernel holds this folder"):
            names(stranger)
    assert quarantined_files_count(user_data) == 0
    assert names(open_vault()) == ["a"]


def test_a_database_in_use_with_the_right_key_is_quarantined_for_nobody(
    user_data: UserData, open_vault: OpenVault
) -> None:
    right = open_vault()
    put(right, "a")
    stranger = open_vault(key=WRONG_KEY, owner=False)
    with pytest.raises(VaultUnavailable):
        names(stranger)
    put(right, "b")
    assert names(right) == ["a", "b"]


def damage_by_bytes(path: Path) -> None:
    path.write_bytes(os.urandom(path.stat().st_size))


def damage_first_page(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[1000] ^= 1
    path.write_bytes(content)


def damage_by_cutting(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:6000])


def damage_by_cutting_to_a_stub(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def damage_by_plain_sqlite(path: Path) -> None:
    path.unlink()
    plain = sqlite3.connect(path)
    plain.execute("CREATE TABLE repository (x)")
    plain.commit()
    plain.close()


@pytest.mark.parametrize(
    "damage",
    [
        damage_by_bytes,
        damage_first_page,
        damage_by_cutting,
        damage_by_cutting_to_a_stub,
        damage_by_plain_sqlite,
    ],
)
def test_a_damaged_file_is_quarantined_as_it_was(
    user_data: UserData, vault: Vault, damage: Callable[[Path], None]
) -> None:
    put(vault, "a")
    vault.close()
    damage(user_data.database_file)
    damaged = user_data.database_file.read_bytes()
    assert names(vault) in ([], ["a"])  # what lies on whole pages is read
    assert quarantined_files(user_data)[""].read_bytes() == damaged


def flip_a_bit_of_pages(path: Path, pages: range) -> bytes:
    content = bytearray(path.read_bytes())
    for page in pages:
        content[page * 4096 + 100] ^= 1
    path.write_bytes(content)
    return bytes(content)


def test_damage_met_later_is_quarantined_and_what_is_whole_is_kept(
    user_data: UserData, open_vault: OpenVault
) -> None:
    vault = open_vault()
    keys = ApiKeys(vault)
    for number in range(50):
        keys.set(f"{number:02}", "x" * 3000)
    vault.close()
    keys.get("00")  # the vault is open again, and has read little of the file
    damaged = flip_a_bit_of_pages(user_data.database_file, range(20, 22))
    for number in range(50):
        keys.has(f"{number:02}")  # never fails, whatever page it meets
    assert quarantined_files(user_data)[""].read_bytes() == damaged
    kept = names(vault)
    assert 40 <= len(kept) < 50
    with pytest.raises(ApiKeyNotFound, match=r"set aside as kernel\.db\.unreadable-.*again"):
        keys.get(next(name for name in map("{:02}".format, range(50)) if name not in kept))


def test_damage_that_nobody_has_met_is_noticed_when_the_vault_is_opened(
    user_data: UserData, vault: Vault
) -> None:
    for number in range(20):
        put(vault, f"{number:02}", "x" * 3000)
    vault.close()
    flip_a_bit_of_pages(user_data.database_file, range(15, 16))
    assert RepoRegistry(vault).list_all() == []
    assert quarantined_files_count(user_data) == 1


def test_repositories_outlive_a_vault_that_cannot_be_read_at_all(
    user_data: UserData, vault: Vault, caplog: pytest.LogCaptureFixture
) -> None:
    registry = RepoRegistry(vault)
    for name in ("one", "removed", "two"):
        registry.add(name, Path(f"/code/{name}"))
    registry.remove("removed")
    before = registry.list_all()
    vault.close()
    user_data.database_file.write_bytes(os.urandom(9000))
    assert registry.list_all() == before
    assert "API keys that are missing have to be entered again" in caplog.text
    assert registry.add("three", Path("/code/three")).id > before[-1].id


def test_a_vault_deleted_while_it_is_open_is_written_again(
    user_data: UserData, vault: Vault
) -> None:
    RepoRegistry(vault).add("one", Path("/code/one"))
    ApiKeys(vault).set("deepseek", "a key")
    for path in user_data.database_folder.glob("kernel.db*"):
        path.unlink()
    assert ApiKeys(vault).get("deepseek") == "a key"
    vault.close()
    assert ApiKeys(vault).get("deepseek") == "a key"
    assert [repo.name for repo in RepoRegistry(vault).list_all()] == ["one"]


def test_a_takeover_that_was_killed_is_finished_by_the_next_opening(
    user_data: UserData, vault: Vault
) -> None:
    put(vault, "a")
    vault.close()
    quarantine_database(user_data.database_file, PENDING_LABEL)
    assert names(vault) == ["a"]
    assert not list(user_data.database_folder.glob("*.pending-*"))


def make_folder(path: Path) -> None:
    path.mkdir()
    (path / "file").touch()


def make_loop(path: Path) -> None:
    path.symlink_to(path)


def make_dead_link(path: Path) -> None:
    path.symlink_to(path.with_name("nowhere"))


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_garbage(path: Path) -> None:
    path.write_bytes(b"\xff\x00 garbage " * 70)


def make_nothing(path: Path) -> None:
    path.touch()


@posix_only
@pytest.mark.parametrize(
    "make", [make_folder, make_loop, make_dead_link, make_fifo, make_garbage, make_nothing]
)
@pytest.mark.parametrize(
    "name",
    [
        "kernel.db",
        "kernel.db-wal",
        "kernel.db-shm",
        "kernel.key",
        "vault-id",
        "opening.lock",
        "kernel.lock",
        "repositories.json",
    ],
)
def test_nothing_in_the_place_of_a_file_stops_the_vault(
    user_data: UserData, name: str, make: Callable[[Path], None]
) -> None:
    lock = ProcessLock(user_data.lock_file)
    vault = Vault(user_data, {}, may_quarantine=lock.try_acquire_or_log)
    registry = RepoRegistry(vault)
    registry.add("one", Path("/code/one"))
    ApiKeys(vault).set("deepseek", "a key")
    vault.close()
    place = user_data.database_folder / name
    place.unlink(missing_ok=True)
    make(place)
    assert [repo.name for repo in registry.list_all()] == ["one"]
    assert ApiKeys(vault).has("deepseek") is (name not in {"kernel.db", "kernel.key"})
    ApiKeys(vault).set("new", "another key")
    registry.add("two", Path("/code/two"))
    vault.close()
    assert ApiKeys(vault).get("new") == "another key"
    vault.close()
    lock.release()


def test_a_list_of_repositories_with_a_flipped_bit_names_no_other_folder(
    user_data: UserData,
) -> None:
    vault = Vault(user_data, {}, may_quarantine=lambda: True)
    RepoRegistry(vault).add("one", Path("/code/one"))
    vault.close()
    listed = user_data.repo_list_file
    listed.write_bytes(listed.read_bytes().replace(b"/code/one", b"/code/onf"))
    user_data.database_file.write_bytes(b"garbage" * 4096)
    assert RepoRegistry(vault).list_all() == []
    vault.close()


@pytest.mark.slow
def test_random_damage_never_stops_the_vault_and_never_loses_a_repository(
    tmp_path: Path,
) -> None:
    chance = random.Random(18)  # noqa: S311 - not a secret
    for number in range(choose_tries(40, 400)):
        user_data = UserData(tmp_path / str(number))
        lock = ProcessLock(user_data.lock_file)
        vault = Vault(user_data, {}, may_quarantine=lock.try_acquire_or_log)
        registry, keys, usage = RepoRegistry(vault), ApiKeys(vault), UsageLedger(vault)
        repo = registry.add("one", Path("/code/one"))
        for model in range(30):
            keys.set(f"model {model}", "k" * 500)
            usage.record(repo.id, f"model {model}", date(2026, 1, 1), 1, 2)
        if chance.random() < 0.5:
            vault.close()  # else it is damaged while it is open
        path = chance.choice(
            [
                user_data.database_file,
                user_data.database_file,
                user_data.database_file.with_name("kernel.db-wal"),
                user_data.key_file,
                user_data.repo_list_file,
            ]
        )
        damage_at_random(path, chance)
        for model in range(30):
            keys.has(f"model {model}")
        usage.sum_by_model(repo.id)
        usage.record(repo.id, "m", date(2026, 1, 2), 1, 2)
        vault.close()  # what was damaged unnoticed is noticed when the vault is opened
        keys.set("new", "key")
        vault.close()
        assert [each.name for each in registry.list_all()] == ["one"], number
        assert keys.get("new") == "key"
        vault.close()
        lock.release()


def damage_at_random(path: Path, chance: random.Random) -> None:
    if not path.exists():
        return
    content = bytearray(path.read_bytes())
    kind = chance.choice(["flip", "cut", "garbage", "zeros", "delete"])
    if kind == "delete":
        path.unlink()
        return
    if kind == "cut":
        del content[chance.randrange(len(content) + 1) :]
    elif content:
        begin = chance.randrange(len(content))
        if kind == "flip":
            content[begin] ^= 1 << chance.randrange(8)
        else:
            end = begin + chance.randrange(5000)
            size = len(content[begin:end])
            content[begin:end] = chance.randbytes(size) if kind == "garbage" else bytes(size)
    path.write_bytes(content)


def test_rows_that_lost_their_database_are_kept(user_data: UserData, open_vault: OpenVault) -> None:
    crash_with_rows_in_the_wal(user_data, open_vault())
    wal = user_data.database_file.with_name("kernel.db-wal")
    rows = wal.read_bytes()
    user_data.database_file.unlink()
    assert names(open_vault()) == []
    kept = list(user_data.database_folder.glob("*.unreadable-*-wal"))
    assert [path.read_bytes() for path in kept] == [rows]


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
