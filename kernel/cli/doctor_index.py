"""The part of ``codekernel doctor`` that looks at indexes, and with ``--fix`` mends them."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from kernel.errors import KernelError, StorageError
from kernel.storage.index_examination import (
    count_contents,
    find_damages,
    has_index,
    quarantine_damages,
)
from kernel.storage.quarantine import is_quarantined, quarantined
from kernel.storage.repo_registry import RepoRegistry
from kernel.storage.user_data import UserData
from kernel.storage.vault import Vault

Finding = tuple[bool, str]

_DISCARDED = "discarded-"


def examine_indexes(user_data: UserData, vault: Vault, *, fix: bool) -> Iterator[Finding]:
    """Say of every index how much is in it and what is damaged; with ``fix``, move that aside."""
    for folder, name in sorted(_folders(user_data, vault).items()):
        if not has_index(folder):
            yield False, f"index of {name}: not made yet; opening the repository makes it"
            continue
        damages = find_damages(folder)
        for damage in damages:
            yield not fix, f"index of {name}: {damage.reason}"
        if damages and fix:
            yield _fix(folder, name)
        elif damages:
            yield (
                False,
                (
                    f"index of {name}: it is rebuilt from the files when it is next opened;"
                    " doctor --fix moves what is damaged aside now"
                ),
            )
        else:
            yield _contents(folder, name)
        if aside := quarantined(folder):
            names = ", ".join(str(path.relative_to(folder)) for path in aside)
            yield False, f"index of {name}: damaged files were moved aside, delete them: {names}"


def _fix(folder: Path, name: str) -> Finding:
    try:
        moved = quarantine_damages(folder, find_damages(folder))
    except StorageError as error:
        return True, f"index of {name}: {error}"
    if moved is None:
        return False, f"index of {name}: a codekernel that is running keeps it, and rebuilds it"
    names = ", ".join(path.name for path in moved)
    what = f"moved aside: {names}; " if names else "damaged vectors were deleted; "
    return False, f"index of {name}: {what}it is rebuilt when the index is next opened"


def _contents(folder: Path, name: str) -> Finding:
    try:
        files, chunks, refused = count_contents(folder)
    except StorageError as error:
        return True, f"index of {name}: {error}"
    return False, f"index of {name}: {files} files, {chunks} chunks, {refused} left out"


def _folders(user_data: UserData, vault: Vault) -> dict[Path, str]:
    """Every index there is or could be, by the name of its repository where that is known."""
    found: dict[Path, str] = {}
    if user_data.index.is_dir():
        for folder in user_data.index.iterdir():
            if not is_quarantined(folder) and not folder.name.startswith(_DISCARDED):
                found[folder] = folder.name
    if user_data.database_file.exists():
        with suppress(KernelError):  # told by whoever looks at the vault
            found |= {user_data.index_of(repo.id): repo.name for repo in RepoRegistry(vault).all()}
    return found
