"""Which folder is searched, and where its index lies."""

import os
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from kernel.errors import InvalidPath
from kernel.storage.user_data import UserData


def searched_folder(argument: str | None) -> Path:
    """The folder asked for, else the repository around the current one, else the current one.

    Raises InvalidPath.
    """
    if argument is not None:
        return _existing(Path(os.path.abspath(argument)))  # noqa: PTH100 - a link keeps its name
    here = _existing(_current())
    root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    if root in {Path(root.anchor), _home()} and root == here:
        raise InvalidPath(
            f"{here} is not a project: go into one, or say --repo {here} if all of it is meant"
        )
    return root


def index_folder(root: Path, user_data: UserData, environ: Mapping[str, str]) -> Path:
    """The index that the kernel keeps of a registered repository, else one of the folder's own.

    Raises StorageError if the list of repositories cannot be read.
    """
    if user_data.database_file.exists():
        from kernel.storage.command_vault import CommandVault  # noqa: PLC0415
        from kernel.storage.repo_registry import RepoRegistry  # noqa: PLC0415 - seldom needed

        with closing(CommandVault(user_data, environ)) as vault:
            for repo in RepoRegistry(vault).all():
                if repo.path == root:
                    return user_data.index_of(repo.id)
    return user_data.index_of_folder(root)


def _existing(folder: Path) -> Path:
    try:
        with os.scandir(folder):
            return folder
    except NotADirectoryError as error:
        raise InvalidPath(f"{folder} is a file; --repo wants the folder around it") from error
    except OSError as error:
        raise InvalidPath(f"the folder {folder} cannot be read: {error.strerror}") from error


def _current() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise InvalidPath("the current folder is gone; go into another one") from error


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # nobody knows
        return None
