"""Which repositories a call is about: those it names, the client's roots, or the one of its folder.

Others than the one of the client's session are opened for a call and stay open for a while.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from codekernel.adapters.indexed_repository import IndexedRepository, OpenedIndex
from codekernel.adapters.mcp.tools import McpTools
from codekernel.adapters.mcp.toolset.search import (
    MAX_BUDGET_TOKENS,
    MAX_PAGE_HITS,
    MIN_BUDGET_TOKENS,
    CodeSearchArguments,
    build_query,
    format_page,
)
from codekernel.agent.registry import decode_arguments
from codekernel.agent.tool import ToolOutcome, make_failure, make_success
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Hit, Repo
from codekernel.domain.progress import ProgressCallback
from codekernel.domain.untrusted_text import strip_scheme
from codekernel.errors import Cancelled, KernelError, WrongParam
from codekernel.runtime.repo_folders import register_folder
from codekernel.runtime.repository_search import search_repos, select_repositories
from codekernel.runtime.workspace import Workspace
from codekernel.runtime.workspaces import Workspaces
from codekernel.search.federation import FederatedHits, FederatedQuery
from codekernel.search.query_syntax import parse_search_expression
from codekernel.storage.vault.vault import RepoRegistry

# A client answers at once; one that does not is taken to have no roots.
ROOTS_TIMEOUT_SECONDS = 3.0

REPO_FIELD = "repo"

ALL_REPOSITORIES = "*"

# How models call the field.
_REPO_ALIASES = ("repo", "repos", "repository", "repositories", "project")

# Fields that hold a place, which says by itself in which repository it is if it is absolute.
_PLACE_FIELDS = ("path", "place", "like", "symbol", "file", "file_path")

Arguments = Mapping[str, Any]

# Makes the tools of a workspace that was opened for a call.
MakeTools = Callable[[IndexedRepository, Workspace], McpTools]


class McpRepositories:
    """The repositories of one client; any number of threads may call tools at once."""

    def __init__(
        self,
        own: McpTools | None,
        repos: RepoRegistry,
        workspaces: Workspaces,
        make_tools: MakeTools,
        want_own: Callable[[], None] = lambda: None,
    ) -> None:
        """``own`` are the tools of the client's folder, if that is a project.

        ``want_own`` is called once it is clear that the client works there: one that names roots
        may have been started anywhere, and nobody asked for an index of that.
        """
        self._own = own
        self._want_own = want_own
        self._repos = repos
        self._workspaces = workspaces
        self._make_tools = make_tools
        self._roots: Sequence[Repo] = ()
        self._has_roots = threading.Event()
        self._has_roots.set()

    def expect_roots(self) -> None:
        """Let calls wait a moment for the client's roots."""
        self._has_roots.clear()

    def set_roots(self, folders: Sequence[Path]) -> None:
        """Use the client's roots instead of the folder it was started in; none leave that."""
        found: list[Repo] = []
        for folder in folders:
            try:
                found.append(register_folder(folder, self._repos, self._workspaces, keep=False))
            except KernelError:  # it is gone, or no folder
                continue
        self._roots = list(dict.fromkeys(found))
        if not self._roots:
            self._want_own()
        self._has_roots.set()

    def call(
        self, name: str, raw: Arguments, cancel: CancelToken, report: ProgressCallback
    ) -> ToolOutcome:
        """Call a tool; every failure is an outcome, except that Cancelled is raised."""
        self._wait_for_roots()
        arguments = {key: value for key, value in raw.items() if key not in _REPO_ALIASES}
        wanted = next((raw[key] for key in _REPO_ALIASES if raw.get(key)), None)
        try:
            chosen = self._select(name, arguments, wanted)
            if name == "search" and (len(chosen) > 1 or (wanted and not chosen)):
                return self._search(arguments, chosen, cancel)
            if len(chosen) > 1:
                names = ", ".join(repo.name for repo in chosen)
                raise WrongParam(f"{name} is about one repository: say repo with one of {names}.")
            if not chosen:
                return self.get_own().call(name, arguments, cancel, report)
            with self._open(chosen[0]) as tools:
                stripped = _strip_name(arguments, chosen[0])
                return tools.call(name, stripped, cancel, report)
        except Cancelled:
            raise
        except KernelError as error:
            return make_failure(str(error))

    @contextmanager
    def open_default(self) -> Iterator[McpTools]:
        """Return the tools of the repository that calls are about which name none."""
        self._wait_for_roots()
        if self._roots:
            with self._open(self._roots[0]) as tools:
                yield tools
        else:
            yield self.get_own()

    def _wait_for_roots(self) -> None:
        if not self._has_roots.wait(ROOTS_TIMEOUT_SECONDS):
            self._has_roots.set()  # it answers too late for the first call, or never

    def get_own(self) -> McpTools:
        """Return the tools of the folder that the client was started in. Raises WrongParam."""
        if self._own is None:
            raise WrongParam(
                "codekernel was started outside of a project, and the client names none: pass repo"
                " with a folder or the name of a repository, or start codekernel mcp --repo DIR"
            )
        self._want_own()
        return self._own

    def _select(self, tool: str, arguments: Arguments, wanted: object) -> list[Repo]:
        """Return the repositories of a call; none for that of the client's folder."""
        if wanted:
            values = wanted if isinstance(wanted, list) else str(wanted).split(",")
            return self._find_named([str(each).strip() for each in values if str(each).strip()])
        if tool == "search":
            filters = parse_search_expression(str(arguments.get("query") or "")).filters
            if filters.repos or filters.not_repos:
                query = str(arguments.get("query"))
                return select_repositories(self._repos.list_all(), None, query)
        if around := self._find_around(arguments):
            return [around]
        return list(self._roots) if tool == "search" else list(self._roots[:1])

    def _find_named(self, values: Sequence[str]) -> list[Repo]:
        known = self._repos.list_all()
        if ALL_REPOSITORIES in values:
            return known
        folders = [each for each in values if Path(each).is_absolute()]
        names = [each for each in values if each not in folders]
        found = select_repositories(known, names, "") if names else []
        return [*found, *map(self._register, map(Path, folders))]

    def _register(self, folder: Path) -> Repo:
        return register_folder(folder, self._repos, self._workspaces, keep=False)

    def _find_around(self, arguments: Arguments) -> Repo | None:
        """Return the known repository around an absolute path, unless it is the client's own."""
        given = (str(arguments.get(name) or "") for name in _PLACE_FIELDS)
        absolute = [Path(path) for each in given if Path(path := strip_scheme(each)).is_absolute()]
        if not absolute:
            return None
        own = self._own.repository.folder if self._own else None
        if own and not self._roots and own in absolute[0].parents:
            return None
        around = [repo for repo in self._repos.list_all() if repo.path in absolute[0].parents]
        return max(around, key=lambda repo: len(repo.path.parts), default=None)

    @contextmanager
    def _open(self, repo: Repo) -> Iterator[McpTools]:
        """Return the tools of a repository; those of the client's folder if it is that."""
        if self._own and self._own.repository.folder == repo.path:
            yield self.get_own()
            return
        with self._workspaces.acquire(repo) as workspace:
            workspace.index.start(self._workspaces.build_plan())
            opened = partial(OpenedIndex, workspace.index, lambda: workspace)
            repository = IndexedRepository(repo.path, opened)
            try:
                yield self._make_tools(repository, workspace)
            finally:
                repository.close()

    def _search(self, raw: Arguments, repos: Sequence[Repo], cancel: CancelToken) -> ToolOutcome:
        arguments = decode_arguments(CodeSearchArguments, raw)
        if not arguments.query.strip():
            raise WrongParam("Several repositories are searched with `query`; `like` is about one.")
        budget = min(max(arguments.budget, MIN_BUDGET_TOKENS), MAX_BUDGET_TOKENS)
        wanted = arguments.offset + MAX_PAGE_HITS
        asked = FederatedQuery(build_query(arguments), wanted)
        accepted = select_repositories(repos, None, asked.text)
        found = search_repos(self._workspaces, accepted, asked, cancel)
        hits = [_prefix_path(name, hit) for name, hit in found.hits]
        page = format_page(hits, arguments.offset, budget, wanted)
        return make_success("\n\n".join(filter(None, [page.text, _describe(found)])))


def _prefix_path(name: str, hit: Hit) -> Hit:
    return replace(hit, chunk=replace(hit.chunk, path=f"{name}/{hit.chunk.path}"))


def _describe(found: FederatedHits) -> str:
    """Return how the repositories were searched."""
    rows = (
        ["[Paths begin with the repository: pass it as repo to read them.]"] if found.hits else []
    )
    for each in found.outcomes:
        rows += [f"[{each.repo_name}: {text}]" for text in (each.error, each.gap) if text]
    return "\n".join(rows)


def _strip_name(arguments: Arguments, repo: Repo) -> dict[str, Any]:
    """Return arguments whose places do not begin with the repository's name, as hits have it."""
    stripped = dict(arguments)
    head = f"{repo.name}/"
    for name in _PLACE_FIELDS:
        value = stripped.get(name)
        is_prefixed = isinstance(value, str) and value.startswith(head)
        if is_prefixed and not (repo.path / repo.name).exists():
            stripped[name] = str(value).removeprefix(head)
    return stripped
