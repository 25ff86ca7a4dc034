"""Find the project root for a command (``--repo`` or around the current folder) and its index."""

import os
from contextlib import closing
from pathlib import Path

from codekernel.cli.output.terminal import print_notice
from codekernel.errors import InvalidPath, StorageError
from codekernel.storage.user_data import UserData


def find_project_root(argument: str | None) -> Path:
    """Return the given folder, else the repository around the current one, else the current one.

    Raises InvalidPath.
    """
    if argument is not None:
        return _require_folder(Path(os.path.abspath(argument)))  # noqa: PTH100 - a link keeps its name
    here = _require_folder(_get_current_folder())
    root = find_git_root(here) or here
    if root in {Path(root.anchor), _get_home_folder()} and root == here:
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
        from codekernel.storage.vault.tables import RepoRegistry  # noqa: PLC0415 - seldom needed
        from codekernel.storage.vault.vault import CommandVault  # noqa: PLC0415

        with closing(CommandVault(user_data, os.environ)) as vault:
            for repo in RepoRegistry(vault).list_all():
                if repo.path == root:
                    return user_data.repo_index_folder(repo.id)
    return user_data.folder_index_folder(root)


def _require_folder(folder: Path) -> Path:
    try:
        with os.scandir(folder):
            return folder
    except NotADirectoryError as error:
        raise InvalidPath(f"{folder} is a file; --repo wants the folder around it") from error
    except OSError as error:
        raise InvalidPath(f"the folder {folder} cannot be read: {error.strerror}") from error


def _get_current_folder() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise InvalidPath("the current folder is gone; go into another one") from error


def _get_home_folder() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:
        return None
