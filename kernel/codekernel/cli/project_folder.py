"""Find the project root for a command (``--repo`` or around the current folder) and its index."""

import os
from contextlib import suppress
from pathlib import Path

from codekernel.client.connection import KernelConnection
from codekernel.errors import InvalidPath
from codekernel.storage.user_data import UserData


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


def find_index_folder(kernel: KernelConnection, repo_name: str, user_data: UserData) -> Path:
    """Return where the kernel keeps the index of a repository."""
    indexes = kernel.request("getIndexes")["indexes"]
    (folder,) = (each["folder"] for each in indexes if each["repoName"] == repo_name)
    return user_data.indexes_folder / str(folder)


def _require_folder(folder: Path) -> Path:
    try:
        with os.scandir(folder):
            return folder
    except NotADirectoryError as error:
        raise InvalidPath(f"{folder} is a file; --repo wants the folder around it") from error
    except OSError as error:
        raise InvalidPath(f"the folder {folder} cannot be read: {error.strerror}") from error
