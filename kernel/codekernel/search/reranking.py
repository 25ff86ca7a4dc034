"""Let the selected reranker read the best chunk of each of the first files.

Which model that is, when it is loaded, and what a remote one may be sent.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from codekernel.domain.concurrency import CancelToken, Lazy
from codekernel.domain.index import EndpointAsk, build_embedding_text
from codekernel.domain.settings import (
    ModelKind,
    ModelSource,
    Performance,
    RemoteModel,
    Settings,
)
from codekernel.errors import InvalidModel
from codekernel.search.query_parser import Query
from codekernel.search.ranking import (
    EVIDENCE_FACTOR_OF_UNNAMED,
    RankedChunk,
    add_evidence,
    select_for_reranker,
    weigh_cosines,
    weigh_probabilities,
)
from codekernel.search.retrieval import CandidateCatalog

if TYPE_CHECKING:  # needed with the first accurate search
    from codekernel.inference.model_pool import ModelPool
    from codekernel.search.remote_reranking import RemoteRerankers

logger = logging.getLogger(__name__)

# Returns the evidence that each text answers a query (ranking.py), as what it adds to the logarithm
# of a score; empty if no reranker is selected or usable.
RerankFunction = Callable[[str, Sequence[str]], Sequence[float]]


def rerank_first_files(
    catalog: CandidateCatalog,
    query: Query,
    ranked: Sequence[RankedChunk],
    rerank: RerankFunction,
    *,
    is_unnamed: bool,
) -> Sequence[RankedChunk]:
    """Return the order with what a reranker says of the chunks, with their paths.

    ``is_unnamed``: no file is named after the query.
    """
    read = select_for_reranker(ranked)
    if len(read) <= 1:
        return ranked
    contents = catalog.read_chunk_texts([each.chunk.id for each in read])
    texts = [
        f"{chunk.path}\n{build_embedding_text(chunk.symbols, contents.get(chunk.id, ''))}"
        for chunk, _, _ in read
    ]
    factor = EVIDENCE_FACTOR_OF_UNNAMED if is_unnamed else 1.0
    evidence = [factor * each for each in rerank(query.semantic_query, texts)]
    return add_evidence(ranked, read, evidence) if evidence else ranked


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
        get_settings: Callable[[], Settings],
        get_model_pool: "Callable[[], ModelPool]",
        get_remote: "Callable[[], RemoteRerankers] | None",
    ) -> None:
        """Without ``get_remote`` nothing is sent to remote models."""
        self._root = root
        self._get_settings = get_settings
        self._get_model_pool, self._get_remote = get_model_pool, get_remote
        self._cancel = CancelToken()
        self._resources = ExitStack()
        self._loaded: tuple[_SelectedModel, RerankFunction | None] | None = None
        self._load_lock = threading.Lock()

    def __call__(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return the evidence that each text answers; empty without a reranker."""
        choice = _find_selected_model(self._get_settings())
        if choice is None:
            return ()
        with self._load_lock:
            weigh = self._load(choice)
        return weigh(query, texts) if weigh else ()

    def list_asks(self) -> tuple[EndpointAsk, ...]:
        """Return what a remote reranker would be sent, if somebody allows it."""
        choice = _find_selected_model(self._get_settings())
        if choice is None or not isinstance(choice.source, RemoteModel):
            return ()
        if self._get_remote is None:
            return ()
        ask = self._get_remote().describe_ask(self._root, choice.source)
        return (ask,) if ask else ()

    def answer_ask(self, model: str, *, allowed: bool) -> bool:
        """Keep whether a remote reranker may be sent the repository; false if it is not in use."""
        choice = _find_selected_model(self._get_settings())
        source = choice.source if choice else None
        if not isinstance(source, RemoteModel) or source.name != model or self._get_remote is None:
            return False
        self._get_remote().answer_ask(self._root, source, allowed=allowed)
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
        if self._get_remote is None:
            raise InvalidModel(f"{choice.source.name} is remote, and nothing is sent from here")
        load_standby: Lazy[RerankFunction | None] = Lazy(lambda: self._load_standby(choice))
        remote = self._get_remote().open(self._root, choice.source, choice.kind, load_standby)
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
