"""The open workspaces, reference-counted by sessions, and the checks of a repository folder."""

import itertools
import logging
import os
import shutil
import threading
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from codekernel.domain.concurrency import BackgroundThrottle, RefCounted
from codekernel.domain.index import Repo
from codekernel.errors import (
    InvalidPath,
    RepoNameExist,
    RepoNameNotMatch,
    RepoNotExist,
)
from codekernel.indexing.index_plan import IndexPlan, build_index_plan
from codekernel.runtime.index_folders import IndexFolder, list_index_folders, mark_used
from codekernel.settings.live import LiveSettings
from codekernel.storage.safe_files import explain_os_error
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import RepoRegistry

if TYPE_CHECKING:  # heavier than the start of the kernel, and imported with the first repository
    from codekernel.inference.model_pool import ModelPool
    from codekernel.runtime.workspace import Workspace

logger = logging.getLogger(__name__)

# A dead network drive answers after minutes or never, and every window waits for the check.
FOLDER_TIMEOUT_SECONDS = 5.0

# Each holds its vectors in memory: 20 MB for 20,000 chunks.
MAX_LINGERING_WORKSPACES = 4

_DISCARDED_PREFIX = "discarded-"

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


def register_folder(folder: Path, repos: RepoRegistry, workspaces: "Workspaces") -> Repo:
    """Return the repository of a folder; register a new one under a free name.

    The index that an earlier version made for the folder itself is taken over.
    Raises InvalidPath, StorageError.
    """
    if "\0" in str(folder) or not folder.is_absolute():
        raise InvalidPath(f"the path of a folder must be absolute, got {str(folder)!r}")
    if known := _find_registered(folder, repos):
        return known
    check_repo_folder(str(folder), folder.name)
    with _registration_lock:  # or two clients would register it twice
        return _find_registered(folder, repos) or _register_new(folder, repos, workspaces)


def _find_registered(folder: Path, repos: RepoRegistry) -> Repo | None:
    path = os.path.realpath(folder)
    for repo in repos.list_all():
        if repo.path == folder or os.path.realpath(repo.path) == path:
            return repo
    return None


def _register_new(folder: Path, repos: RepoRegistry, workspaces: "Workspaces") -> Repo:
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


class Workspaces:
    """The open workspaces, one per repository."""

    def __init__(
        self,
        user_data: UserData,
        settings: LiveSettings,
        get_model_pool: "Callable[[], ModelPool]",
        get_linger_seconds: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """``get_linger_seconds``: how long a workspace stays open after its last session."""
        self._user_data = user_data
        self._lingering = _LingeringWorkspaces(get_linger_seconds)
        self._settings = settings
        self._get_model_pool = get_model_pool
        # A question to one repository slows down the indexing of all.
        self._throttle = BackgroundThrottle()
        self._workspaces: RefCounted[int, Workspace] = RefCounted(close=lambda it: it.close())

    @contextmanager
    def acquire(self, repo: Repo) -> "Iterator[Workspace]":
        """Return the workspace of a repository for as long as the block lasts."""
        acquire = partial(self._workspaces.acquire, repo.id, lambda: self._open_workspace(repo))
        with acquire() as workspace:
            try:
                yield workspace
            finally:
                self._lingering.keep(repo.id, acquire)

    def close_unused(self, timeout_seconds: float) -> bool:
        """Close the workspaces that no session uses; false if one is still closing after that."""
        self._lingering.release_all()
        return self._workspaces.wait_until_empty(timeout_seconds)

    def discard_index(self, repo_id: int) -> None:
        """Delete a repository's index: rename it at once, delete it in the background."""
        self._lingering.release(repo_id)
        self._discard(self._user_data.repo_index_folder(repo_id))

    def discard_folder(self, folder: Path, repo: Repo | None) -> None:
        """Delete an index that nobody has open; ``repo`` is its repository, if there is one."""
        if repo:
            self._lingering.release(repo.id)
        self._discard(folder)

    def list_index_folders(self, repos: Sequence[Repo]) -> list[IndexFolder]:
        """Return what is on disk for repositories and without one."""
        found = list_index_folders(self._user_data, repos)
        return [each for each in found if not each.folder.name.startswith(_DISCARDED_PREFIX)]

    def _discard(self, folder: Path) -> None:
        if folder.exists():
            try:
                folder.rename(folder.with_name(f"{_DISCARDED_PREFIX}{folder.name}"))
            except OSError as error:
                raise explain_os_error(error, folder) from error
            self.delete_discarded()

    def adopt_folder_index(self, repo: Repo) -> None:
        """Take over the index that a terminal search made before its folder was registered."""
        made, wanted = (
            self._user_data.folder_index_folder(repo.path),
            self._user_data.repo_index_folder(repo.id),
        )
        if made.is_dir() and not wanted.exists():
            try:
                made.rename(wanted)
            except OSError as error:  # it is indexed again
                logger.warning("%s is not taken over. %s", made, explain_os_error(error, made))

    def delete_discarded(self) -> None:
        """Delete what an earlier ``discard_index`` left, on a thread of its own."""
        threading.Thread(target=self._delete_discarded, name="delete-index", daemon=True).start()

    def build_plan(self) -> IndexPlan:
        """Return what the present settings ask of every index."""
        return build_index_plan(self._settings.current, is_certain=self._settings.is_certain)

    def _open_workspace(self, repo: Repo) -> "Workspace":
        from codekernel.runtime.workspace import open_workspace  # noqa: PLC0415 - heavy

        folder = self._user_data.repo_index_folder(repo.id)
        mark_used(folder)
        return open_workspace(repo, folder, self._settings, self._get_model_pool, self._throttle)

    def _delete_discarded(self) -> None:
        for folder in self._user_data.indexes_folder.glob(f"{_DISCARDED_PREFIX}*"):
            shutil.rmtree(folder, ignore_errors=True)


class _LingeringWorkspaces:
    """Holds a reference to each workspace for a while after its last use."""

    def __init__(self, get_linger_seconds: Callable[[], float]) -> None:
        self._get_linger_seconds = get_linger_seconds
        self._kept: dict[int, tuple[ExitStack, threading.Timer]] = {}  # least recently used first
        self._lock = threading.Lock()

    def keep(
        self, repo_id: int, acquire: "Callable[[], AbstractContextManager[Workspace]]"
    ) -> None:
        """Hold the workspace that was just used; the least recently used one may have to go."""
        seconds = self._get_linger_seconds()
        if seconds <= 0:
            return
        reference = ExitStack()
        reference.enter_context(acquire())
        timer = threading.Timer(seconds, self._expire, [repo_id, reference])
        timer.daemon = True
        with self._lock:
            released = [self._kept.pop(repo_id, None)]
            self._kept[repo_id] = (reference, timer)
            if len(self._kept) > MAX_LINGERING_WORKSPACES:
                released.append(self._kept.pop(next(iter(self._kept))))
        timer.start()
        for entry in released:
            _release_kept(entry)

    def release(self, repo_id: int) -> None:
        """Let go of a workspace now."""
        with self._lock:
            entry = self._kept.pop(repo_id, None)
        _release_kept(entry)

    def release_all(self) -> None:
        """Let go of all workspaces."""
        for repo_id in list(self._kept):
            self.release(repo_id)

    def _expire(self, repo_id: int, reference: ExitStack) -> None:
        with self._lock:
            entry = self._kept.get(repo_id)
            if entry is None or entry[0] is not reference:  # it was used again meanwhile
                return
            del self._kept[repo_id]
        _release_kept(entry)


def _release_kept(entry: tuple[ExitStack, threading.Timer] | None) -> None:
    if entry:
        entry[1].cancel()
        entry[0].close()
