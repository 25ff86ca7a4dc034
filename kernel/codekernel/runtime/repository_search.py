"""Searches several repositories at once; those that nobody has open are opened for it."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from threading import Lock
from time import monotonic

from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Repo, RepositoryIndexStatus
from codekernel.errors import WrongParam
from codekernel.runtime.repo_folders import require_repo_folder
from codekernel.runtime.workspace import Workspace
from codekernel.runtime.workspaces import Workspaces
from codekernel.search.federation import FederatedHits, FederatedQuery, search_repositories
from codekernel.search.filters import build_unknown_value_error
from codekernel.search.pipeline import Searcher
from codekernel.search.query_syntax import parse_search_expression

# More are named with filters, or one after the other: each takes memory while it is searched.
MAX_SEARCHED_REPOSITORIES = 64

# Vectors are opened, and a first index has the words of a few thousand files by then.
OPENING_TIMEOUT_SECONDS = 5.0

_POLL_INTERVAL_SECONDS = 0.05

_BUSY_STATES = frozenset({"starting", "recovering", "indexing"})


def select_repositories(
    repos: Sequence[Repo], names: Sequence[str] | None, query: str
) -> list[Repo]:
    """Return the named repositories, else all, that ``repo:`` of the query accepts.

    Raises WrongParam for a name that none has, and if none is left.
    """
    known = {repo.name: repo for repo in repos}
    for name in names or ():
        if name not in known:
            raise build_unknown_value_error(f'no repository is called "{name}"', name, known)
    filters = parse_search_expression(query).filters
    chosen = [known[name] for name in dict.fromkeys(names)] if names is not None else list(repos)
    accepted = [repo for repo in chosen if filters.accepts_repo(repo.name)]
    if not accepted and filters.repos:
        wanted = filters.repos[0]
        message = f'no repository that is searched is called "{wanted}"'
        raise build_unknown_value_error(message, wanted, [repo.name for repo in chosen])
    if len(accepted) > MAX_SEARCHED_REPOSITORIES:
        raise WrongParam(
            f"{len(accepted)} repositories are too many at once, at most"
            f" {MAX_SEARCHED_REPOSITORIES}: name those that are meant"
        )
    return accepted


def search_repos(
    workspaces: Workspaces, repos: Sequence[Repo], asked: FederatedQuery, cancel: CancelToken
) -> FederatedHits:
    """Search repositories and fuse what is found.

    Raises WrongParam if every repository refuses the query, Cancelled.
    """
    with _OpenWorkspaces(workspaces) as opened:
        searchers = {
            repo.name: partial(_open_searcher, opened.open, repo, asked, cancel) for repo in repos
        }
        return search_repositories(searchers, asked, cancel)


class _OpenWorkspaces(AbstractContextManager["_OpenWorkspaces"]):
    """Workspaces that stay open for as long as the block lasts; for several threads."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces
        self._opened = ExitStack()
        self._lock = Lock()

    def open(self, repo: Repo) -> Workspace:
        """Open a workspace and begin to follow its files. Raises KernelError."""
        acquired = self._workspaces.acquire(repo)
        workspace = acquired.__enter__()
        with self._lock:
            self._opened.push(acquired)
        workspace.index.start(self._workspaces.build_plan())
        return workspace

    def __exit__(self, *_: object) -> None:
        self._opened.close()


def _open_searcher(
    open_workspace: Callable[[Repo], Workspace],
    repo: Repo,
    asked: FederatedQuery,
    cancel: CancelToken,
) -> tuple[Searcher, str]:
    require_repo_folder(repo)
    workspace = open_workspace(repo)
    status, is_first = _wait_until_open(workspace, asked, cancel)
    searcher = workspace.searcher if asked.semantic else workspace.narrow_searcher()
    return searcher, _describe_gap(status, asked, is_first=is_first)


def _wait_until_open(
    workspace: Workspace, asked: FederatedQuery, cancel: CancelToken
) -> tuple[RepositoryIndexStatus, bool]:
    """Wait a moment for the vectors, and for the words of a repository that had no index.

    Returns the status, and whether it had none.
    """
    until = monotonic() + OPENING_TIMEOUT_SECONDS
    is_first = workspace.index.store.catalog.is_empty
    while True:
        status = workspace.index.get_status()
        is_lexical = not is_first or status.state not in _BUSY_STATES
        is_semantic = all(each.ready or each.trouble for each in status.configs)
        is_done = is_lexical and (is_semantic or not asked.semantic)
        if is_done or monotonic() > until or cancel.wait(_POLL_INTERVAL_SECONDS):
            return status, is_first


def _describe_gap(status: RepositoryIndexStatus, asked: FederatedQuery, *, is_first: bool) -> str:
    if status.trouble:
        return status.trouble
    if is_first and status.state in _BUSY_STATES:
        return f"it is being indexed, {status.files} files so far"
    late = [each.name for each in status.configs if not each.ready or each.waiting]
    if asked.semantic and late:
        return f"meaning is still being indexed ({', '.join(late)})"
    return ""
