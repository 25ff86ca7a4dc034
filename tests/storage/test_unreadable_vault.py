"""Vaults that cannot be read: wrong keys, damage, lost files. Nothing is ever overwritten."""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from storage.vault_contents import (
    WRONG_KEY,
    OpenVault,
    crash_with_rows_in_the_wal,
    names,
    put,
    set_aside_files,
    set_aside_files_count,
)

from kernel.errors import StorageError, VaultUnavailable
from kernel.storage.user_data import UserData
from kernel.storage.vault import Vault

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
    vault = open_vault(key=WRONG_KEY)
    with pytest.raises(VaultUnavailable) as refusal:
        names(vault)
    aside = set_aside_files(user_data)
    assert set(aside) == {"", "-wal", "-shm"}
    assert {suffix: aside[suffix].read_bytes() for suffix in found} == found
    message = str(refusal.value)
    for part in (
        "the key from CODEKERNEL_VAULT_KEY",
        "wrong key, or the file is damaged",
        aside[""].name,
        "nothing was overwritten",
        "To go back",
    ):
        assert part in message
    assert WRONG_KEY not in message + caplog.text
    assert aside[""].name in caplog.text
    assert capfd.readouterr() == ("", "")


def test_after_the_wrong_key_the_next_request_gets_an_empty_vault(
    user_data: UserData, open_vault: OpenVault
) -> None:
    first = open_vault()
    put(first, "a")
    first.close()
    vault = open_vault(key=WRONG_KEY)
    with pytest.raises(VaultUnavailable):
        names(vault)
    assert names(vault) == []
    put(vault, "new")
    assert names(vault) == ["new"]
    assert len(list(user_data.database_folder.glob("*.unreadable-*"))) == 1


def test_renaming_back_brings_every_row_back(user_data: UserData, open_vault: OpenVault) -> None:
    crash_with_rows_in_the_wal(user_data, open_vault())
    wrong = open_vault(key=WRONG_KEY)
    with pytest.raises(VaultUnavailable):
        names(wrong)
    put(wrong, "meanwhile")
    wrong.close()
    for suffix, path in set_aside_files(user_data).items():
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
        with pytest.raises(VaultUnavailable, match="Another codekernel holds this folder"):
            names(stranger)
    assert set_aside_files_count(user_data) == 0
    assert names(open_vault()) == ["a"]


def test_a_database_in_use_with_the_right_key_is_set_aside_for_nobody(
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
def test_a_damaged_file_is_set_aside_as_it_was(
    user_data: UserData, vault: Vault, damage: Callable[[Path], None]
) -> None:
    put(vault, "a")
    vault.close()
    damage(user_data.database_file)
    damaged = user_data.database_file.read_bytes()
    with pytest.raises(VaultUnavailable, match="set aside"):
        names(vault)
    assert set_aside_files(user_data)[""].read_bytes() == damaged
    assert names(vault) == []


def test_damage_met_later_is_explained_and_nothing_is_overwritten(
    user_data: UserData, vault: Vault
) -> None:
    for number in range(50):
        put(vault, f"{number}", "x" * 3000)
    vault.close()
    content = bytearray(user_data.database_file.read_bytes())
    for place in range(20 * 4096 + 100, len(content), 4096):
        content[place] ^= 1
    user_data.database_file.write_bytes(content)
    refused = pytest.raises(StorageError, match="damaged and part of it cannot be read")
    with refused as refusal, vault.reading() as database:
        database.execute("SELECT * FROM api_key").fetchall()
    assert "Nothing was overwritten" in str(refusal.value)
    assert user_data.database_file.read_bytes() == content


def test_rows_that_lost_their_database_are_kept(user_data: UserData, open_vault: OpenVault) -> None:
    crash_with_rows_in_the_wal(user_data, open_vault())
    wal = user_data.database_file.with_name("kernel.db-wal")
    rows = wal.read_bytes()
    user_data.database_file.unlink()
    assert names(open_vault()) == []
    kept = list(user_data.database_folder.glob("*.unreadable-*-wal"))
    assert [path.read_bytes() for path in kept] == [rows]
