"""Folders: those of this machine to choose from, and those of repositories: checks, registering."""

import itertools
import os
import threading
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from codekernel.domain.index import Repo
from codekernel.errors import InvalidPath, RepoNameExist, RepoNameNotMatch, RepoNotExist
from codekernel.runtime.workspaces import Workspaces
from codekernel.storage.vault.vault import RepoRegistry

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


# A dead network drive answers after minutes or never, and every window waits for the check.
FOLDER_TIMEOUT_SECONDS = 5.0

_registration_lock = threading.Lock()


def check_repo_folder(path: str, name: str) -> Path:
    """Return the folder to register under ``name``; checks in the order the front end expects.

    Raises InvalidPath or RepoNameNotMatch.
    """
    folder = Path(path)
    if "\0" in path or not folder.is_absolute():
        raise InvalidPath(f"the repository path must be absolute, got {path!r}")
    if not is_folder_reachable(folder):
        raise InvalidPath(f"there is no folder {path}; a repository must be an existing folder")
    if not folder.name or _normalize_name(folder.name) != _normalize_name(name):
        raise RepoNameNotMatch(
            f"the repository must be called {folder.name!r} like its folder, not {name!r}"
        )
    return folder


def register_folder(
    folder: Path, repos: RepoRegistry, workspaces: Workspaces, *, keep: bool = True
) -> Repo:
    """Return the repository of a folder; register a new one under a free name.

    The index that a search without the kernel made for the folder itself is taken over. Without
    ``keep`` a new one is cleaned away with its index when it has been unused for long.
    Raises InvalidPath, StorageError.
    """
    repo, is_new = _find_or_register(folder, repos, workspaces)
    if keep:
        workspaces.keep_registered(repo)
    elif is_new:
        workspaces.mark_search_only(repo)
    return repo


def _find_or_register(
    folder: Path, repos: RepoRegistry, workspaces: Workspaces
) -> tuple[Repo, bool]:
    if "\0" in str(folder) or not folder.is_absolute():
        raise InvalidPath(f"the path of a folder must be absolute, got {str(folder)!r}")
    if known := _find_registered(folder, repos):
        return known, False
    check_repo_folder(str(folder), folder.name)
    with _registration_lock:  # or two clients would register it twice
        if known := _find_registered(folder, repos):
            return known, False
        return _register_new(folder, repos, workspaces), True


def _find_registered(folder: Path, repos: RepoRegistry) -> Repo | None:
    path = os.path.realpath(folder)
    for repo in repos.list_all():
        if repo.path == folder or os.path.realpath(repo.path) == path:
            return repo
    return None


def _register_new(folder: Path, repos: RepoRegistry, workspaces: Workspaces) -> Repo:
    names = itertools.chain((folder.name,), (f"{folder.name}-{n}" for n in itertools.count(2)))
    for name in names:
        try:
            repo = repos.add(name, folder)
        except RepoNameExist:
            continue
        workspaces.adopt_folder_index(repo)
        return repo
    raise AssertionError("numbers do not end")


def require_repo_folder(repo: Repo) -> None:
    """Raise RepoNotExist if the repository's folder is gone."""
    if not is_folder_reachable(repo.path):
        raise RepoNotExist(
            f"the folder {repo.path} of repository {repo.name} is gone or does not answer; "
            "bring it back, or delete the repository from the list"
        )


def is_folder_reachable(folder: Path, timeout_seconds: float = FOLDER_TIMEOUT_SECONDS) -> bool:
    """Return whether the folder exists and answers in time."""
    found = threading.Event()

    def check() -> None:
        if folder.is_dir():
            found.set()

    checker = threading.Thread(target=check, name="folder", daemon=True)
    checker.start()
    checker.join(timeout_seconds)
    return found.is_set()


def _normalize_name(name: str) -> str:
    """Compose accents: macOS stores them in another form than keyboards produce."""
    return unicodedata.normalize("NFC", name)
