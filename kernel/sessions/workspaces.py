"""What all windows on one repository share, opened by the first of them and closed by the last."""

import logging
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

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


@dataclass(slots=True)
class _Lending:
    """A workspace and its users; the lock makes a second opener wait for the first."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    workspace: Workspace | None = None
    borrowers: int = 0


class Workspaces:
    """Lends each repository's one workspace to its sessions."""

    def __init__(self, user_data: UserData) -> None:
        self._user_data = user_data
        self._lendings: dict[int, _Lending] = {}
        self._lock = threading.Lock()

    @contextmanager
    def lend(self, repo: Repo) -> Iterator[Workspace]:
        """The workspace of a repository for as long as the block lasts."""
        with self._lock:
            lending = self._lendings.setdefault(repo.id, _Lending())
            lending.borrowers += 1
        try:
            with lending.lock:
                if lending.workspace is None:
                    lending.workspace = self._open(repo)
            yield lending.workspace
        finally:
            with self._lock:
                lending.borrowers -= 1
                if not lending.borrowers:
                    self._lendings.pop(repo.id, None)

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
