"""The open repositories of a team; search, files, read and grep of one, for one person.

Everything comes from the index, never from the disk: a link or a path with dots leads nowhere. What
a person may not read is treated as what is not there, word for word.
"""

import logging
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

from codekernel.adapters.mcp.toolset.search import cut_lines, format_page
from codekernel.adapters.team.rights import PathRules
from codekernel.agent.tool import ToolContext
from codekernel.agent.tools.grep import LineMatch, LineSearch
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Hit, HitList
from codekernel.domain.untrusted_text import encode_path
from codekernel.errors import InvalidPath, KernelError
from codekernel.masking.masker import mask_secrets
from codekernel.runtime.repo_folders import register_folder
from codekernel.runtime.workspace import Workspace
from codekernel.runtime.workspaces import Workspaces
from codekernel.search.filters import is_path_match
from codekernel.storage.catalog.catalog import Catalog
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


MAX_HITS, MAX_FILES, MAX_LINES = 100, 1000, 200

MAX_READ_CHARS = 60_000


@dataclass(frozen=True, slots=True)
class TeamQueries:
    """What one person may ask of one repository."""

    repository: TeamRepository
    rules: PathRules

    def search(self, query: str, limit: int, *, accuracy: bool, cancel: CancelToken) -> HitList:
        """Return the best hits among what may be read, without secrets.

        Raises WrongParam, Cancelled.
        """
        searcher = replace(self.repository.workspace.searcher, is_readable=self.rules.is_readable)
        found = searcher.run_search(query, min(limit, MAX_HITS), cancel, accuracy=accuracy)
        return replace(found, hits=[_hide_secrets(hit) for hit in found.hits])

    def search_for_model(self, query: str, offset: int, budget: int, cancel: CancelToken) -> str:
        """Return a page of hits as text."""
        found = self.search(query, MAX_HITS, accuracy=False, cancel=cancel)
        return format_page(found.hits, offset, budget, MAX_HITS).text

    def list_paths(self, glob: str = "") -> list[str]:
        """Return the readable files, or those of them that match a glob."""
        files = self.repository.workspace.index.query_catalog(Catalog.list_files)
        readable = filter(self.rules.is_readable, files)
        return sorted(path for path in readable if not glob or is_path_match(glob, path))

    def read_lines(self, path: str, first: int = 1, last: int = 0) -> tuple[list[str], int]:
        """Return lines of a file, from ``first`` of 1, and how many it has. Raises InvalidPath."""
        wanted = path.strip().removeprefix("./")
        catalog = self.repository.workspace.index.store.catalog
        file = catalog.find_file(wanted) if self.rules.is_readable(wanted) else None
        if file is None:
            raise InvalidPath(f"there is no file {encode_path(wanted)[:200]}")
        lines = catalog.read_document(file.id).splitlines()
        chosen = lines[max(1, first) - 1 : last or len(lines)]
        return chosen[: cut_lines(chosen, MAX_READ_CHARS)], len(lines)

    def grep(
        self, pattern: str, *, glob: str, is_regex: bool, ignore_case: bool, cancel: CancelToken
    ) -> tuple[list[LineMatch], bool]:
        """Return lines, and whether these are all. Raises WrongParam."""
        context = self.repository.context.with_cancel(cancel)
        lines = LineSearch(context, pattern, is_regex=is_regex, ignore_case=ignore_case)
        found: list[LineMatch] = []
        with closing(self._iterate_texts(glob)) as texts:
            for path, text in texts:
                found += lines.search_text(path, text)
                if len(found) > MAX_LINES or not lines.is_complete or cancel.is_cancelled:
                    return found[:MAX_LINES], False
        return found, True

    def _iterate_texts(self, glob: str) -> Generator[tuple[str, str], None, None]:
        def is_wanted(path: str, _language: str) -> bool:
            return self.rules.is_readable(path) and (not glob or is_path_match(glob, path))

        catalog = self.repository.workspace.index.store.catalog
        with closing(catalog.iterate_documents(is_wanted)) as documents:
            for _, path, text in documents:
                yield path, text


def _hide_secrets(hit: Hit) -> Hit:
    chunk = replace(hit.chunk, signature=mask_secrets(hit.chunk.signature).text)
    return replace(hit, chunk=chunk, content=mask_secrets(hit.content).text)
