"""The open workspaces, reference-counted by the sessions that use them."""

import logging
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from codekernel.domain.concurrency import BackgroundThrottle, Lazy, RefCounted
from codekernel.domain.index import Repo, RepositoryIndexStatus
from codekernel.errors import StorageError
from codekernel.indexing.index_plan import IndexPlan, build_index_plan
from codekernel.runtime.index_folders import (
    CountContents,
    IndexFolder,
    find_unregistered_index,
    list_index_folders,
    mark_kept,
    mark_search_only,
    mark_used,
)
from codekernel.settings.live import LiveSettings
from codekernel.storage.safe_files import explain_os_error
from codekernel.storage.user_data import UserData

if TYPE_CHECKING:  # heavier than the start of the kernel, and imported with the first repository
    from codekernel.inference.model_pool import ModelPool
    from codekernel.runtime.late_services import TeamServices
    from codekernel.runtime.workspace import Workspace
    from codekernel.storage.vector_sweep import VectorSweeper

logger = logging.getLogger(__name__)

# Each holds its vectors in memory: 20 MB for 20,000 chunks. So many stay open, and more while they
# are small: a query to ten repositories would open them for each letter that is typed.
MIN_LINGERING_WORKSPACES, MAX_LINGERING_WORKSPACES = 4, 24
MAX_LINGERING_CHUNKS = 100_000

_DISCARDED_PREFIX = "discarded-"


@dataclass(frozen=True, slots=True)
class WorkspaceParts:
    """What the open workspaces share."""

    settings: LiveSettings
    get_model_pool: "Callable[[], ModelPool]"
    throttle: BackgroundThrottle
    team: "TeamServices | None" = None


class Workspaces:
    """The open workspaces, one per repository."""

    def __init__(
        self,
        user_data: UserData,
        settings: LiveSettings,
        get_model_pool: "Callable[[], ModelPool]",
        get_linger_seconds: Callable[[], float] = lambda: 0.0,
        team: "TeamServices | None" = None,
    ) -> None:
        """``get_linger_seconds``: how long a workspace stays open after its last session."""
        self._user_data = user_data
        self._lingering = _LingeringWorkspaces(get_linger_seconds)
        # A question to one repository slows down the indexing of all.
        self._parts = WorkspaceParts(settings, get_model_pool, BackgroundThrottle(), team)
        self.vector_sweeper = Lazy(self._open_sweeper)
        self._workspaces: RefCounted[int, Workspace] = RefCounted(close=self._close_workspace)

    @contextmanager
    def acquire(self, repo: Repo) -> "Iterator[Workspace]":
        """Return the workspace of a repository for as long as the block lasts."""
        acquire = partial(self._workspaces.acquire, repo.id, lambda: self._open_workspace(repo))
        with acquire() as workspace:
            try:
                yield workspace
            finally:
                self._lingering.keep(repo.id, acquire)

    def list_lingering(self) -> list[tuple[Repo, RepositoryIndexStatus]]:
        """Return what is open for its next use, and how far its index is."""
        return self._lingering.list_states()

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

    def discard_clone(self, root: Path) -> None:
        """Delete the clone of a repository whose URL was searched; any other folder is kept."""
        if root.parent.parent == self._user_data.clones_folder:
            shutil.rmtree(root.parent, ignore_errors=True)

    def list_index_folders(
        self, repos: Sequence[Repo], count_contents: CountContents
    ) -> list[IndexFolder]:
        """Return what is on disk for repositories and without one."""
        own = self._workspaces.list_keys()
        found = list_index_folders(self._user_data, repos, own, count_contents)
        return [each for each in found if not each.folder.name.startswith(_DISCARDED_PREFIX)]

    def keep_registered(self, repo: Repo) -> None:
        """Record that the user has opened a repository, however long it is unused from now on."""
        mark_kept(self._user_data.repo_index_folder(repo.id))

    def mark_search_only(self, repo: Repo) -> None:
        """Record that a repository is only known from a search in a terminal."""
        mark_search_only(self._user_data.repo_index_folder(repo.id))

    def _open_sweeper(self) -> "VectorSweeper":
        from codekernel.storage.vector_sweep import VectorSweeper  # noqa: PLC0415 - heavy

        return VectorSweeper(self._user_data, self._list_live_folders)

    def _list_live_folders(self) -> list[Path]:
        there = self._user_data.indexes_folder
        found = there.iterdir() if there.is_dir() else ()
        return [each for each in found if not each.name.startswith(_DISCARDED_PREFIX)]

    def _close_workspace(self, workspace: "Workspace") -> None:
        workspace.close()
        if self._user_data.shared_vectors_folder.is_dir():
            threading.Thread(
                target=lambda: self.vector_sweeper().sweep_if_due(),
                name="sweep-vectors",
                daemon=True,
            ).start()

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
            find_unregistered_index(self._user_data, repo.path),
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
        settings = self._parts.settings
        return build_index_plan(settings.current, is_certain=settings.is_certain)

    def _open_workspace(self, repo: Repo) -> "Workspace":
        from codekernel.runtime.workspace import open_workspace  # noqa: PLC0415 - heavy

        folder = self._user_data.repo_index_folder(repo.id)
        mark_used(folder, repo.path)
        return open_workspace(repo, folder, self._parts)

    def _delete_discarded(self) -> None:
        for folder in self._user_data.indexes_folder.glob(f"{_DISCARDED_PREFIX}*"):
            shutil.rmtree(folder, ignore_errors=True)


class _KeptWorkspace(NamedTuple):
    reference: ExitStack
    timer: threading.Timer
    workspace: "Workspace"
    chunk_count: int


class _LingeringWorkspaces:
    """Holds a reference to each workspace for a while after its last use."""

    def __init__(self, get_linger_seconds: Callable[[], float]) -> None:
        self._get_linger_seconds = get_linger_seconds
        self._kept: dict[int, _KeptWorkspace] = {}  # least recently used first
        self._lock = threading.Lock()

    def keep(
        self, repo_id: int, acquire: "Callable[[], AbstractContextManager[Workspace]]"
    ) -> None:
        """Hold the workspace that was just used; the least recently used one may have to go."""
        seconds = self._get_linger_seconds()
        if seconds <= 0:
            return
        reference = ExitStack()
        workspace = reference.enter_context(acquire())
        chunk_count = _count_chunks(workspace)
        timer = threading.Timer(seconds, self._expire, [repo_id, reference])
        timer.daemon = True
        with self._lock:
            released = [self._kept.pop(repo_id, None)]
            self._kept[repo_id] = _KeptWorkspace(reference, timer, workspace, chunk_count)
            while self._has_too_many():
                released.append(self._kept.pop(next(iter(self._kept))))
        timer.start()
        for entry in released:
            _release_kept(entry)

    def _has_too_many(self) -> bool:
        count, chunks = len(self._kept), sum(each.chunk_count for each in self._kept.values())
        return count > MIN_LINGERING_WORKSPACES and (
            count > MAX_LINGERING_WORKSPACES or chunks > MAX_LINGERING_CHUNKS
        )

    def list_states(self) -> list[tuple[Repo, RepositoryIndexStatus]]:
        """Return each repository and the state of its index; none is closed meanwhile."""
        with self._lock:
            kept = [entry.workspace for entry in self._kept.values()]
            return [(each.repo, each.index.get_status()) for each in kept]

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
            if entry is None or entry.reference is not reference:  # it was used again meanwhile
                return
            del self._kept[repo_id]
        _release_kept(entry)


def _count_chunks(workspace: "Workspace") -> int:
    with suppress(StorageError):  # it is being rebuilt
        return workspace.index.store.catalog.count_contents()[1]
    return 0


def _release_kept(entry: _KeptWorkspace | None) -> None:
    if entry:
        entry.timer.cancel()
        entry.reference.close()
