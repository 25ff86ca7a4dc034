"""The workspace of a repository: index, searchers and call graph.

Its imports are heavier than the start of the kernel: it is imported with the first repository.
"""

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codekernel.base.base_session import BaseSession
from codekernel.conversation.repository_access import RepositoryAccess
from codekernel.domain.call_graph import CallChainQuery, CallChainResult
from codekernel.domain.concurrency import CancelToken, Lazy
from codekernel.domain.index import EndpointAsk, Hit, Repo
from codekernel.domain.settings import Settings
from codekernel.indexing.index_plan import build_index_plan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.runtime.workspaces import WorkspaceParts
from codekernel.search.highlight import build_highlighter
from codekernel.search.pipeline import Searcher
from codekernel.search.reranking import SelectedReranker
from codekernel.search.retrieval import NarrowedIndexView

if TYPE_CHECKING:  # needed for vectors, and for agents
    from codekernel.callgraph.graph import LiveCallGraph

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Workspace:
    """One repository while it is open."""

    repo: Repo
    index: RepositoryIndex
    local_searcher: Searcher
    reranker: SelectedReranker
    call_graph: "Lazy[LiveCallGraph]"
    unsubscribe_settings: Callable[[], None]
    # What the team's base has of the repository, if the settings name one.
    base: BaseSession | None = None

    @property
    def searcher(self) -> Searcher:
        """Return a searcher of the repository, for one search."""
        return (
            self.base.cover(self.local_searcher, self.index) if self.base else self.local_searcher
        )

    def list_asks(self) -> tuple[EndpointAsk, ...]:
        """Return what remote models would be sent of the repository, if somebody allows it."""
        return (*self.index.list_asks(), *self.reranker.list_asks())

    def answer_ask(self, model: str, *, allowed: bool) -> bool:
        """Keep whether a remote model may be sent the repository; false if it is not in use.

        Raises StorageError.
        """
        answers = [it.answer_ask(model, allowed=allowed) for it in (self.index, self.reranker)]
        return any(answers)

    def narrow_searcher(self, configs: Collection[str] = ()) -> Searcher:
        """Return a searcher with some of the vectors; by words alone without any."""
        searcher = self.searcher
        pairs = zip(self.index.vector_indexes, searcher.index.vector_indexes, strict=False)
        chosen = [each for local, each in pairs if local.config.name in configs]
        return replace(searcher, index=NarrowedIndexView(searcher.index, chosen))

    def build_repository_access(self, *, has_mirror: bool) -> RepositoryAccess:
        """Return the repository as a conversation needs it."""

        def search(query: str, limit: int, cancel: CancelToken) -> list[Hit]:
            return self.searcher.run_search(query, limit, cancel, accuracy=True).hits

        return RepositoryAccess(
            self.repo.path,
            search,
            lambda: self.index.store.catalog,
            self.repo.id,
            lambda *asked: self.call_graph().ask(*asked),
            build_highlighter,
            has_mirror,
        )

    def ask_calls(
        self, question: CallChainQuery, cancel: CancelToken, seconds: float
    ) -> CallChainResult:
        """Ask the call graph, again while it still reads files: a person waits for the whole."""
        answer = self.call_graph().ask(question, cancel, seconds)
        while answer.behind and not cancel.is_cancelled:
            following = self.call_graph().ask(question, cancel, seconds)
            if following.behind >= answer.behind:
                return following
            answer = following
        return answer

    def close(self) -> None:
        """Close the parts that are open."""
        self.unsubscribe_settings()
        self.reranker.close()
        self.call_graph.use_if_created(lambda it: it.close())
        self.index.close()
        logger.info("closed the workspace of %s", self.repo.name)


def open_workspace(repo: Repo, folder: Path, parts: WorkspaceParts) -> Workspace:
    """Open the index in ``folder``; models and call graph are opened when they are needed."""
    get_model_pool, throttle, settings = parts.get_model_pool, parts.throttle, parts.settings
    shared: dict[str, Any] = {}
    if team := parts.team:
        shared = {
            "get_team_vectors": team.get_vectors,
            "restore_index": team.restore_index,
            "get_remote_models": team.get_remote_models,
        }
    open_base = team.get_base_opener() if team else None
    base = BaseSession(repo.path, open_base) if open_base else None
    if base:
        shared["elsewhere"] = base
    index = RepositoryIndex(repo.path, folder, get_model_pool, throttle, **shared)
    get_remote = team.get_remote_rerankers if team else None

    def reconfigure(changed: Settings) -> None:
        index.reconfigure(build_index_plan(changed, is_certain=True))

    logger.info("opened the workspace of %s", repo.name)
    reranker = SelectedReranker(repo.path, lambda: settings.current, get_model_pool, get_remote)
    describe_gap = base.describe_gap if base else lambda: ""
    searcher = Searcher(
        repo.path, index, reranker, throttle, index.recover_from, describe_gap=describe_gap
    )
    unsubscribe = settings.subscribe(reconfigure)
    return Workspace(
        repo, index, searcher, reranker, Lazy(lambda: open_call_graph(index)), unsubscribe, base
    )


def open_call_graph(index: RepositoryIndex) -> "LiveCallGraph":
    """Return the call graph of an index; the caller closes it."""
    from codekernel.callgraph.graph import LiveCallGraph  # noqa: PLC0415 - heavy, for agents alone

    return LiveCallGraph(lambda: index.store)
