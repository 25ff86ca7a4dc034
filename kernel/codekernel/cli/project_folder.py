"""Find the project root for a command (``--repo`` or around the current folder) and its index."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from codekernel.cli.output.terminal import print_notice
from codekernel.errors import InvalidPath, StorageError
from codekernel.storage.user_data import UserData

if TYPE_CHECKING:
    from codekernel.storage.vault.vault import RepoRegistry


def find_project_root(argument: str | None) -> Path:
    """Return the given folder, else the repository around the current one, else the current one.

    Raises InvalidPath.
    """
    if argument is not None:
        return _require_folder(Path(os.path.abspath(argument)))  # noqa: PTH100 - a link keeps its name
    try:
        here = _require_folder(Path.cwd())
    except OSError as error:
        raise InvalidPath("the current folder is gone; go into another one") from error
    root = find_git_root(here) or here
    too_large = [Path(root.anchor)]
    with suppress(RuntimeError):  # no home is known
        too_large.append(Path.home())
    if root == here and root in too_large:
        raise InvalidPath(
            f"{here} is not a project: go into one, or say --repo {here} if all of it is meant"
        )
    return root


def find_git_root(folder: Path) -> Path | None:
    """Return the folder or the nearest one above it that has a ``.git``."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def choose_index_folder(root: Path, user_data: UserData) -> Path:
    """Return the folder of the index, its own if the list of repositories cannot be read."""
    try:
        return find_index_folder(root, user_data)
    except StorageError as error:
        print_notice(f"{error} So an index of the folder's own is used.")
        return user_data.folder_index_folder(root)


def find_index_folder(root: Path, user_data: UserData) -> Path:
    """Return the index folder of a registered repository, else one for the folder itself.

    Raises StorageError if the list of repositories cannot be read.
    """
    if user_data.database_file.exists():
        with open_repo_registry(user_data) as registry:
            for repo in registry.list_all():
                if repo.path == root:
                    return user_data.repo_index_folder(repo.id)
    return user_data.folder_index_folder(root)


@contextmanager
def open_repo_registry(user_data: UserData) -> "Iterator[RepoRegistry]":
    """Open the list of repositories. Raises StorageError."""
    from codekernel.storage.vault import vault  # noqa: PLC0415 - seldom needed, 6 ms

    with closing(vault.CommandVault(user_data, os.environ)) as opened:
        yield vault.RepoRegistry(opened)


def _require_folder(folder: Path) -> Path:
    try:
        with os.scandir(folder):
            return folder
    except NotADirectoryError as error:
        raise InvalidPath(f"{folder} is a file; --repo wants the folder around it") from error
    except OSError as error:
        raise InvalidPath(f"the folder {folder} cannot be read: {error.strerror}") from error
