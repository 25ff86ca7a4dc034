"""Find the project root for a command (``--repo`` or the repository around the current folder).

The folder of its index.
"""

import os
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from codekernel.errors import InvalidPath
from codekernel.storage.user_data import UserData


def find_project_root(argument: str | None) -> Path:
    """The folder asked for, else the repository around the current one, else the current one.

    Raises InvalidPath.
    """
    if argument is not None:
        return _require_folder(Path(os.path.abspath(argument)))  # noqa: PTH100 - a link keeps its name
    here = _require_folder(_get_current_folder())
    root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    if root in {Path(root.anchor), _get_home_folder()} and root == here:
        raise InvalidPath(
            f"{here} is not a project: go into one, or say --repo {here} if all of it is meant"
        )
    return root


def find_index_folder(root: Path, user_data: UserData, environ: Mapping[str, str]) -> Path:
    """The index that the kernel keeps of a registered repository, else one of the folder's own.

    Raises StorageError if the list of repositories cannot be read.
    """
    if user_data.database_file.exists():
        from codekernel.storage.vault.tables import RepoRegistry  # noqa: PLC0415 - seldom needed
        from codekernel.storage.vault.vault import CommandVault  # noqa: PLC0415

        with closing(CommandVault(user_data, environ)) as vault:
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
    except RuntimeError:  # nobody knows
        return None
