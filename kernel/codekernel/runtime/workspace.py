"""The workspace of a repository: index, searchers, reranker and call graph.

Its imports are heavier than the start of the kernel: it is imported with the first repository.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from codekernel.domain.call_graph import CallChainQuery, CallChainResult
from codekernel.domain.concurrency import BackgroundThrottle, CancelToken, Lazy
from codekernel.domain.index import EndpointAsk, Hit, Repo
from codekernel.domain.settings import (
    ModelKind,
    ModelSource,
    Performance,
    RemoteModel,
    Settings,
)
from codekernel.errors import InvalidModel
from codekernel.indexing.index_plan import build_index_plan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.search.highlight import build_highlighter
from codekernel.search.pipeline import Searcher
from codekernel.search.ranking import weigh_cosines, weigh_probabilities
from codekernel.search.reranking import RerankFunction
from codekernel.search.retrieval import NarrowedIndexView
from codekernel.settings.live import LiveSettings

if TYPE_CHECKING:  # needed for vectors, and for agents
    from codekernel.agent.code_queries.context import RepositoryContext
    from codekernel.callgraph.graph import LiveCallGraph
    from codekernel.conversation.retriever import RepositoryAccess
    from codekernel.indexing.vector_index import VectorIndex
    from codekernel.inference.model_pool import ModelPool
    from codekernel.remote.remote_models import RemoteModels
    from codekernel.runtime.late_services import TeamServices

logger = logging.getLogger(__name__)


class _SelectedModel(NamedTuple):
    source: ModelSource
    kind: ModelKind
    performance: Performance
    standby: Path | None


class SelectedReranker:
    """Weighs texts by the selected reranker; by none if it cannot be used.

    An embedding model compares query and text, a cross-encoder reads them together.
    """

    def __init__(
        self,
        root: Path,
        settings: LiveSettings,
        get_model_pool: "Callable[[], ModelPool]",
        get_remote_models: "Callable[[], RemoteModels] | None",
    ) -> None:
        self._root = root
        self._settings = settings
        self._get_model_pool, self._get_remote_models = get_model_pool, get_remote_models
        self._cancel = CancelToken()
        self._resources = ExitStack()
        self._loaded: tuple[_SelectedModel, RerankFunction | None] | None = None
        self._load_lock = threading.Lock()

    def __call__(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return the evidence that each text answers; empty without a reranker."""
        choice = _find_selected_model(self._settings.current)
        if choice is None:
            return ()
        with self._load_lock:
            weigh = self._load(choice)
        return weigh(query, texts) if weigh else ()

    def list_asks(self) -> tuple[EndpointAsk, ...]:
        """Return what a remote reranker would be sent, if somebody allows it."""
        choice = _find_selected_model(self._settings.current)
        if choice is None or not isinstance(choice.source, RemoteModel):
            return ()
        if self._get_remote_models is None:
            return ()
        from codekernel.runtime.remote_reranking import describe_rerank_ask  # noqa: PLC0415 - heavy, seldom needed

        ask = describe_rerank_ask(self._root, choice.source, self._get_remote_models())
        return (ask,) if ask else ()

    def answer_ask(self, model: str, *, allowed: bool) -> bool:
        """Keep whether a remote reranker may be sent the repository; false if it is not in use."""
        choice = _find_selected_model(self._settings.current)
        source = choice.source if choice else None
        if not isinstance(source, RemoteModel) or source.name != model:
            return False
        if self._get_remote_models is None:
            return False
        from codekernel.remote.consents import ConsentKey  # noqa: PLC0415 - seldom needed

        key = ConsentKey.of(self._root, source)
        self._get_remote_models().consents.set(key, allowed=allowed)
        return True

    def close(self) -> None:
        """Close the model."""
        self._cancel.cancel()
        with self._load_lock:
            self._resources.close()
            self._loaded = None

    def _load(self, choice: _SelectedModel) -> RerankFunction | None:
        if self._loaded and self._loaded[0] == choice:
            return self._loaded[1]
        self._resources.close()
        weigh: RerankFunction | None = None
        try:
            weigh = self._load_model(choice)
        except InvalidModel as error:
            logger.warning("the selected reranker is not used: %s", error)
        self._loaded = (choice, weigh)
        return weigh

    def _load_model(self, choice: _SelectedModel) -> RerankFunction:
        if not isinstance(choice.source, RemoteModel):
            return self._load_local(choice.source, choice.kind, choice.performance)
        if self._get_remote_models is None:
            raise InvalidModel(f"{choice.source.name} is remote, and nothing is sent from here")
        from codekernel.runtime.remote_reranking import RemoteReranking  # noqa: PLC0415 - heavy, seldom needed

        load_standby: Lazy[RerankFunction | None] = Lazy(lambda: self._load_standby(choice))
        remote = RemoteReranking(
            self._root, choice.source, choice.kind, self._get_remote_models(), load_standby
        )
        self._resources.callback(remote.close)
        return remote

    def _load_standby(self, choice: _SelectedModel) -> RerankFunction | None:
        if choice.standby is None:
            return None
        return self._load_local(choice.standby, ModelKind.EMBEDDING, choice.performance)

    def _load_local(self, path: Path, kind: ModelKind, performance: Performance) -> RerankFunction:
        pool, enter, cancel = self._get_model_pool(), self._resources.enter_context, self._cancel
        if kind is ModelKind.EMBEDDING:
            embedder = enter(pool.acquire_embedder(path, performance))
            return lambda query, texts: weigh_cosines(
                embedder.compute_cosines(query, texts, cancel)
            )
        reranker = enter(pool.acquire_reranker(path, performance))
        return lambda query, texts: weigh_probabilities(reranker.score(query, texts, cancel))


def _find_selected_model(settings: Settings) -> _SelectedModel | None:
    models = {model.name: model for model in settings.local_models}
    for config in settings.rerank_configs:
        if config.is_selected and (model := models.get(config.model_name)):
            standby = settings.standby_reranker
            return _SelectedModel(model.source, model.kind, settings.performance, standby)
    return None


@dataclass(frozen=True, slots=True)
class Workspace:
    """One repository while it is open."""

    repo: Repo
    index: RepositoryIndex
    searcher: Searcher
    reranker: SelectedReranker
    call_graph: "Lazy[LiveCallGraph]"
    unsubscribe_settings: Callable[[], None]

    def list_asks(self) -> tuple[EndpointAsk, ...]:
        """Return what remote models would be sent of the repository, if somebody allows it."""
        return (*self.index.list_asks(), *self.reranker.list_asks())

    def answer_ask(self, model: str, *, allowed: bool) -> bool:
        """Keep whether a remote model may be sent the repository; false if it is not in use.

        Raises StorageError.
        """
        answers = [it.answer_ask(model, allowed=allowed) for it in (self.index, self.reranker)]
        return any(answers)

    def narrow_searcher(self, vector_indexes: "Sequence[VectorIndex]" = ()) -> Searcher:
        """Return a searcher with some of the vectors; by words alone without any."""
        return replace(self.searcher, index=NarrowedIndexView(self.index, vector_indexes))

    def build_repository_access(self, *, has_mirror: bool) -> "RepositoryAccess":
        """Return the repository as a conversation needs it."""
        from codekernel.conversation.retriever import RepositoryAccess  # noqa: PLC0415 - with the first question

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

    def build_code_context(self, cancel: CancelToken) -> "RepositoryContext":
        """Return the repository as a question about its code needs it."""
        from codekernel.agent.code_queries.context import RepositoryContext  # noqa: PLC0415 - as above
        from codekernel.agent.workspace.root import WorkspaceRoot  # noqa: PLC0415

        def search(query: str, limit: int) -> list[Hit]:
            return self.searcher.run_search(query, limit, cancel, accuracy=False).hits

        root = WorkspaceRoot.from_path(self.repo.path)
        return RepositoryContext(root, search, self._ask_calls, cancel)

    def _ask_calls(
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


def open_workspace(  # noqa: PLR0913 - what it is made of
    repo: Repo,
    folder: Path,
    settings: LiveSettings,
    get_model_pool: "Callable[[], ModelPool]",
    throttle: BackgroundThrottle,
    *,
    team: "TeamServices | None" = None,
) -> Workspace:
    """Open the index in ``folder``; models and call graph are opened when they are needed."""
    shared: dict[str, Any] = {}
    if team:
        shared = {
            "get_team_vectors": team.get_vectors,
            "restore_index": team.restore_index,
            "get_remote_models": team.get_remote_models,
        }
    index = RepositoryIndex(repo.path, folder, get_model_pool, throttle, **shared)
    get_remote_models = team.get_remote_models if team else None

    def reconfigure(changed: Settings) -> None:
        index.reconfigure(build_index_plan(changed, is_certain=True))

    logger.info("opened the workspace of %s", repo.name)
    reranker = SelectedReranker(repo.path, settings, get_model_pool, get_remote_models)
    searcher = Searcher(repo.path, index, reranker, throttle, index.recover_from)
    unsubscribe = settings.subscribe(reconfigure)
    return Workspace(
        repo, index, searcher, reranker, Lazy(lambda: open_call_graph(index)), unsubscribe
    )


def open_call_graph(index: RepositoryIndex) -> "LiveCallGraph":
    """Return the call graph of an index; the caller closes it."""
    from codekernel.callgraph.graph import LiveCallGraph  # noqa: PLC0415 - heavy, for agents alone

    return LiveCallGraph(lambda: index.store)
