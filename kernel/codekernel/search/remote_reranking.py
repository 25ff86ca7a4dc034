"""Remote rerankers: a person is asked what they may read; without leave a model here answers."""

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from codekernel.domain.concurrency import CancelToken, Lazy
from codekernel.domain.index import EndpointAsk
from codekernel.domain.settings import ModelKind, RemoteModel
from codekernel.errors import InvalidModel, NetworkError
from codekernel.remote.consents import Consent, ConsentKey
from codekernel.remote.identity import SharedIdentities
from codekernel.remote.remote_models import RemoteModels
from codekernel.search.ranking import (
    MAX_RERANKED_FILES,
    MIN_RERANKED_FILES,
    weigh_cosines,
    weigh_probabilities,
)
from codekernel.search.reranking import RerankFunction
from codekernel.storage.user_data import UserData

logger = logging.getLogger(__name__)

# A text is a chunk with its path and symbols.
_CHARS_PER_TEXT, _CHARS_PER_TOKEN = 1100, 3.2


class RemoteReranking:
    """Weighs texts by a remote model; used by any thread."""

    def __init__(
        self,
        root: Path,
        model: RemoteModel,
        kind: ModelKind,
        models: RemoteModels,
        get_standby: Callable[[], RerankFunction | None],
    ) -> None:
        """Open nothing before the first search that may be sent."""
        self._model = model
        self._key = ConsentKey.of(root, model)
        self._consents = models.consents
        self._get_standby = get_standby
        self._cancel = CancelToken()
        self._opened = ExitStack()
        self._weigh = Lazy(lambda: self._open(kind, models))

    def __call__(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return the evidence that each text answers."""
        if self._consents.get(self._key) is Consent.ALLOWED:
            try:
                return self._weigh()(query, texts)
            except (NetworkError, InvalidModel) as error:
                logger.info("results are ranked without %s: %s", self._model.name, error)
        standby = self._get_standby()
        return standby(query, texts) if standby else ()

    def _open(self, kind: ModelKind, models: RemoteModels) -> RerankFunction:
        enter, cancel = self._opened.enter_context, self._cancel
        if kind is ModelKind.EMBEDDING:
            embedder = enter(models.acquire_embedder(self._model))
            return lambda query, texts: weigh_cosines(
                embedder.compute_cosines(query, texts, cancel)
            )
        reranker = enter(models.acquire_reranker(self._model))
        return lambda query, texts: weigh_probabilities(reranker.score(query, texts))

    def close(self) -> None:
        """Close the model."""
        self._cancel.cancel()
        self._opened.close()


class RemoteRerankers:
    """The remote rerankers of all repositories."""

    def __init__(self, models: RemoteModels) -> None:
        self.models = models

    def open(
        self,
        root: Path,
        model: RemoteModel,
        kind: ModelKind,
        get_standby: Callable[[], RerankFunction | None],
    ) -> RemoteReranking:
        """Return the reranker of a repository; the caller closes it."""
        return RemoteReranking(root, model, kind, self.models, get_standby)

    def describe_ask(self, root: Path, model: RemoteModel) -> EndpointAsk | None:
        """Return what a reranker would be sent, if a person has not been asked yet."""
        if self.models.consents.get(ConsentKey.of(root, model)) is not Consent.NOT_ASKED:
            return None
        chars = MIN_RERANKED_FILES * _CHARS_PER_TEXT
        tokens, price = round(chars / _CHARS_PER_TOKEN), model.input_price
        return EndpointAsk(
            model=model.name,
            endpoint=model.url.partition("://")[2].partition("/")[0],
            chunks=MAX_RERANKED_FILES,
            size_bytes=chars,
            tokens=tokens,
            cost=None if price is None else tokens * price / 1_000_000,
            each_search=True,
        )

    def answer_ask(self, root: Path, model: RemoteModel, *, allowed: bool) -> None:
        """Keep whether a reranker may be sent the repository. Raises StorageError."""
        self.models.consents.set(ConsentKey.of(root, model), allowed=allowed)


def open_remote_rerankers(
    user_data: UserData,
    get_secret: Callable[[str], str],
    get_shared: Callable[[], SharedIdentities | None],
) -> RemoteRerankers:
    """Return the remote rerankers of a userData folder; arguments as those of RemoteModels."""
    return RemoteRerankers(RemoteModels(user_data, get_secret, get_shared))
