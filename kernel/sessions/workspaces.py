"""What all windows on one repository share, opened by the first of them and closed by the last."""

import logging
import shutil
import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from kernel.domain.lending import Lending
from kernel.domain.repo import Repo
from kernel.storage.failures import explain
from kernel.storage.user_data import UserData

logger = logging.getLogger(__name__)

_DISCARDED_PREFIX = "discarded-"


@dataclass(frozen=True, slots=True)
class Workspace:
    """One repository while it is open; its index lies in ``index_folder``."""

    repo: Repo
    index_folder: Path


class Workspaces:
    """Lends each repository's one workspace to its sessions."""

    def __init__(self, user_data: UserData) -> None:
        self._user_data = user_data
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

    def _open(self, repo: Repo) -> Workspace:
        folder = self._user_data.index_of(repo.id)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise explain(error, folder) from error
        logger.info("opened the workspace of %s", repo.name)
        return Workspace(repo, folder)

    def _delete_discarded(self) -> None:
        for folder in self._user_data.index.glob(f"{_DISCARDED_PREFIX}*"):
            shutil.rmtree(folder, ignore_errors=True)


def _close(workspace: Workspace) -> None:
    logger.info("closed the workspace of %s", workspace.repo.name)
