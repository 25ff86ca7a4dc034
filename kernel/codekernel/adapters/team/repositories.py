"""The repositories of a team, each opened once and kept open."""

import logging
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from codekernel.agent.tool import ToolContext
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.errors import KernelError
from codekernel.runtime.repo_folders import register_folder
from codekernel.runtime.workspace import Workspace
from codekernel.runtime.workspaces import Workspaces
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import RepoRegistry

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TeamRepository:
    """One that is open; no tool writes, so the journal of the context stays empty."""

    workspace: Workspace
    context: ToolContext


class TeamRepositories:
    """Opens repositories when they are first asked for; used by any thread."""

    def __init__(
        self,
        user_data: UserData,
        repos: RepoRegistry,
        workspaces: Workspaces,
        list_folders: Callable[[], list[Path]],
    ) -> None:
        """``list_folders`` returns those of the rights now; others are never opened."""
        self._user_data = user_data
        self._repos = repos
        self._workspaces = workspaces
        self._list_folders = list_folders
        self._lock = threading.Lock()
        self._open: dict[Path, TeamRepository] = {}
        self._resources = ExitStack()

    def open_all(self) -> None:
        """Open everything that is named, so that the first question need not wait."""
        for folder in self._list_folders():
            try:
                self.get(folder)
            except (KernelError, OSError):
                logger.exception("the repository in %s cannot be opened", folder)

    def get(self, folder: Path) -> TeamRepository:
        """Return an open repository; its index is made and followed. Raises KernelError."""
        with self._lock:
            if folder not in self._open:
                self._open[folder] = self._open_folder(folder)
            return self._open[folder]

    def count_chunks(self) -> dict[Path, int]:
        """Return how many chunks each open repository has."""
        with self._lock:
            opened = dict(self._open)
        return {folder: each.workspace.index.get_status().chunks for folder, each in opened.items()}

    def close(self) -> None:
        """Close all of them."""
        self._resources.close()

    def _open_folder(self, folder: Path) -> TeamRepository:
        repo = register_folder(folder, self._repos, self._workspaces)
        workspace = self._resources.enter_context(self._workspaces.acquire(repo))
        workspace.index.start(self._workspaces.build_plan())
        root = WorkspaceRoot.from_path(folder)
        journal = ChangeJournal.from_user_data(self._user_data.root, "team", root)
        return TeamRepository(workspace, ToolContext(root, journal))
