"""Putting things into a vault, and looking at what became of its files."""

import shutil
from collections.abc import Callable
from pathlib import Path

from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import Vault

OpenVault = Callable[..., Vault]
WRONG_KEY = "00" * 32


def put(vault: Vault, name: str, value: str = "value") -> None:
    with vault.transaction() as database:
        database.execute("INSERT INTO api_key VALUES (?, ?)", (name, value))


def names(vault: Vault) -> list[str]:
    with vault.read_connection() as database:
        rows = database.execute("SELECT name FROM api_key ORDER BY name").fetchall()
    return [name for (name,) in rows]


def crash_with_rows_in_the_wal(user_data: UserData, vault: Vault) -> None:
    """Leave the files as a killed process leaves them: the last row only in kernel.db-wal."""
    put(vault, "in the database")
    vault.close()
    put(vault, "in the wal")
    folder = user_data.database_folder
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    vault.close()
    shutil.rmtree(folder)
    copy.rename(folder)


def quarantined_files(user_data: UserData) -> dict[str, Path]:
    """The files of the one set-aside database, by what was added to its name."""
    found = sorted(user_data.database_folder.glob("kernel.db.unreadable-*"))
    return {path.name.removeprefix(found[0].name): path for path in found}


def quarantined_files_count(user_data: UserData) -> int:
    return len(list(user_data.database_folder.glob("*.unreadable-*")))
