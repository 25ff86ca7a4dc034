"""What all windows on one repository share, opened by the first of them and closed by the last."""

import logging
import shutil
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernel.domain.courtesy import Courtesy
from kernel.domain.later import Later
from kernel.domain.lending import Lending
from kernel.domain.repo import Repo
from kernel.domain.settings import Settings
from kernel.indexing.plan import IndexPlan, plan_of
from kernel.sessions.judging import SelectedReranker
from kernel.settings.live import LiveSettings
from kernel.storage.failures import explain
from kernel.storage.user_data import UserData

if TYPE_CHECKING:  # these cost more than the start of the kernel, and wait for the first repository
    from kernel.callgraph.current import CurrentCalls
    from kernel.indexing.repository_index import RepositoryIndex
    from kernel.inference.shelf import Shelf
    from kernel.search.searcher import Searcher

logger = logging.getLogger(__name__)

_DISCARDED_PREFIX = "discarded-"


@dataclass(frozen=True, slots=True)
class Workspace:
    """One repository while it is open."""

    repo: Repo
    index: "RepositoryIndex"
    searcher: "Searcher"
    reranker: SelectedReranker
    calls: "Later[CurrentCalls]"
    forget_settings: Callable[[], None]


class Workspaces:
    """Lends each repository's one workspace to its sessions."""

    def __init__(
        self, user_data: UserData, settings: LiveSettings, shelf: "Callable[[], Shelf]"
    ) -> None:
        self._user_data = user_data
        self._settings = settings
        self._shelf = shelf
        self._courtesy = Courtesy()  # a question to one repository slows the indexing of all
        self._open_ones: Lending[int, Workspace] = Lending(close=_close)

    def lend(self, repo: Repo) -> AbstractContextManager[Workspace]:
        """The workspace of a repository for as long as the block lasts."""
        return self._open_ones.lend(repo.id, lambda: self._open(repo))

    def discard(self, repo_id: int) -> None:
        """Delete a repository's index: out of sight at once, off the disk in the background."""
        folder = self._user_data.index_of(repo_id)
        if folder.exists():
            try:
                folder.rename(folder.with_name(f"{_DISCARDED_PREFIX}{repo_id}"))
            except OSError as error:
                raise explain(error, folder) from error
            self.sweep()

    def sweep(self) -> None:
        """Delete what an earlier ``discard`` left, on a thread of its own."""
        threading.Thread(target=self._delete_discarded, name="sweep", daemon=True).start()

    def plan(self) -> IndexPlan:
        """What the settings in force ask of every index."""
        return plan_of(self._settings.current, certain=self._settings.certain)

    def _open(self, repo: Repo) -> Workspace:
        from kernel.indexing.repository_index import RepositoryIndex  # noqa: PLC0415 - heavy
        from kernel.search.searcher import Searcher  # noqa: PLC0415 - heavy

        folder = self._user_data.index_of(repo.id)
        index = RepositoryIndex(repo.path, folder, self._shelf, self._courtesy)

        def reconfigure(settings: Settings) -> None:
            index.reconfigure(plan_of(settings, certain=True))

        logger.info("opened the workspace of %s", repo.name)
        reranker = SelectedReranker(self._settings, self._shelf)
        searcher = Searcher(repo.path, index, reranker, self._courtesy, index.recover_from)
        unsubscribe = self._settings.subscribe(reconfigure)
        calls = Later(lambda: _calls_of(index))
        return Workspace(repo, index, searcher, reranker, calls, unsubscribe)

    def _delete_discarded(self) -> None:
        for folder in self._user_data.index.glob(f"{_DISCARDED_PREFIX}*"):
            shutil.rmtree(folder, ignore_errors=True)


def _close(workspace: Workspace) -> None:
    workspace.forget_settings()
    workspace.reranker.close()
    workspace.calls.when_there(lambda it: it.close())
    workspace.index.close()
    logger.info("closed the workspace of %s", workspace.repo.name)


def _calls_of(index: "RepositoryIndex") -> "CurrentCalls":
    from kernel.callgraph.current import CurrentCalls  # noqa: PLC0415 - heavy, for agents alone

    return CurrentCalls(lambda: index.store)
