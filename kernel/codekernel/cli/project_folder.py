"""Find the project root for a command (``--repo`` or around the current folder) and its index.

Without ``pathlib`` where relays need it, which take 0.7 MB less.
"""

import os

from codekernel.errors import InvalidPath
from codekernel.storage.user_data_folder import load_path_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from codekernel.client.connection import KernelConnection
    from codekernel.storage.user_data import UserData


def find_project_root(argument: str | None) -> "Path":
    """Return the same as ``find_project_folder``, as a Path."""
    return load_path_class()(find_project_folder(argument))


def find_project_folder(argument: str | None) -> str:
    """Return the given folder, else the repository around the current one, else the current one.

    Raises InvalidPath.
    """
    if argument is not None:
        return _require_folder(os.path.abspath(argument))
    try:
        here = _require_folder(os.getcwd())
    except OSError as error:
        raise InvalidPath("the current folder is gone; go into another one") from error
    root = _find_git_folder(here) or here
    too_large = map(os.path.normcase, (os.path.dirname(root), os.path.expanduser("~")))
    if root == here and os.path.normcase(root) in too_large:
        raise InvalidPath(
            f"{here} is not a project: go into one, or say --repo {here} if all of it is meant"
        )
    return root


def find_git_root(folder: "Path") -> "Path | None":
    """Return the folder or the nearest one above it that has a ``.git``."""
    found = _find_git_folder(str(folder))
    return type(folder)(found) if found else None


def find_index_folder(kernel: "KernelConnection", repo_name: str, user_data: "UserData") -> "Path":
    """Return where the kernel keeps the index of a repository."""
    indexes = kernel.request("getIndexes")["indexes"]
    (folder,) = (each["folder"] for each in indexes if each["repoName"] == repo_name)
    return user_data.indexes_folder / str(folder)


def _find_git_folder(folder: str) -> str:
    """Return the folder or the nearest one above it that has a ``.git``; empty if there is none."""
    while not os.path.exists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above
    return folder


def _require_folder(folder: str) -> str:
    try:
        with os.scandir(folder):
            return folder
    except NotADirectoryError as error:
        raise InvalidPath(f"{folder} is a file; --repo wants the folder around it") from error
    except OSError as error:
        raise InvalidPath(f"the folder {folder} cannot be read: {error.strerror}") from error
