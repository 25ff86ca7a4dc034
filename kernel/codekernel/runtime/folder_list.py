"""List folders of this machine, so that somebody can choose one in a page."""

import os
from dataclasses import dataclass
from pathlib import Path

from codekernel.errors import InvalidPath
from codekernel.runtime.repo_folders import is_folder_reachable

# More than anybody scrolls through.
MAX_FOLDERS = 2_000


@dataclass(frozen=True, slots=True)
class ListedFolder:
    """A folder in another one."""

    path: Path
    is_repository: bool
    is_hidden: bool


@dataclass(frozen=True, slots=True)
class FolderList:
    """The folders in ``path`` by name; not complete if there are too many."""

    path: Path
    folders: list[ListedFolder]
    is_complete: bool


def list_folders(path: str) -> FolderList:
    """List the folders that this account may see. Raises InvalidPath."""
    folder = Path(path) if path else Path.home()
    if "\0" in path or not folder.is_absolute():
        raise InvalidPath(f"the path of a folder must be absolute, got {path!r}")
    if not is_folder_reachable(folder):
        raise InvalidPath(f"there is no folder {path}")
    try:
        with os.scandir(folder) as entries:
            names = sorted((entry.name for entry in entries if entry.is_dir()), key=str.lower)
    except OSError as error:
        raise InvalidPath(f"{folder} cannot be listed: {error.strerror}") from error
    shown = [folder / name for name in names[:MAX_FOLDERS] if name.isprintable()]
    return FolderList(
        folder,
        [ListedFolder(each, _is_repository(each), each.name.startswith(".")) for each in shown],
        len(names) <= MAX_FOLDERS,
    )


def _is_repository(folder: Path) -> bool:
    try:
        return (folder / ".git").exists()
    except OSError:
        return False
