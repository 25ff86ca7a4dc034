"""The remote models of one userData folder that are open, shared by reference count."""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from codekernel.domain.concurrency import RefCounted
from codekernel.domain.settings import RemoteModel
from codekernel.errors import ApiKeyNotFound, InvalidModel, NetworkError, WrongParam
from codekernel.llm.model_endpoint import ModelEndpoint
from codekernel.remote.consents import ConsentRegister
from codekernel.remote.identity import IdentityStore, SharedIdentities
from codekernel.remote.remote_embedder import EMBEDDINGS_PATH, RemoteEmbedder
from codekernel.remote.remote_reranker import RERANK_PATH, RemoteReranker
from codekernel.storage.user_data import UserData

# A key that was set meanwhile is used after so long.
KEY_SECONDS = 15.0


class RemoteModels:
    """Embedders and rerankers behind addresses, and what may be sent to them."""

    def __init__(
        self,
        user_data: UserData,
        get_secret: Callable[[str], str],
        get_shared: Callable[[], SharedIdentities | None] = lambda: None,
    ) -> None:
        """``get_secret`` reads the vault, and raises ApiKeyNotFound.

        ``get_shared`` returns what the team has noted of served models.
        """
        folder = user_data.remote_folder
        self.consents = ConsentRegister(folder / "consents.json")
        self._identities = IdentityStore(folder / "models.json", get_shared)
        self._get_secret = get_secret
        self._embedders = RefCounted[RemoteModel, RemoteEmbedder](close=RemoteEmbedder.close)
        self._rerankers = RefCounted[RemoteModel, RemoteReranker](close=RemoteReranker.close)

    def acquire_embedder(self, model: RemoteModel) -> AbstractContextManager[RemoteEmbedder]:
        """Return a model for as long as the block lasts; it is asked what it is when it is opened.

        Raises NetworkError, InvalidModel.
        """
        return self._embedders.acquire(
            model,
            lambda: RemoteEmbedder(
                model, self._open_endpoint(model, EMBEDDINGS_PATH), self._identities
            ),
        )

    def acquire_reranker(self, model: RemoteModel) -> AbstractContextManager[RemoteReranker]:
        """Return a reranker for as long as the block lasts. Raises InvalidModel."""
        return self._rerankers.acquire(
            model, lambda: RemoteReranker(model, self._open_endpoint(model, RERANK_PATH))
        )

    def _open_endpoint(self, model: RemoteModel, path: str) -> ModelEndpoint:
        try:
            return ModelEndpoint(model.url, path, _CachedKey(model, self._get_secret))
        except WrongParam as error:
            raise InvalidModel(f"{model.name}: {error}") from None


class _CachedKey:
    """The key of one model; the vault is a database, and not asked for each request."""

    def __init__(self, model: RemoteModel, get_secret: Callable[[str], str]) -> None:
        self._model = model
        self._get_secret = get_secret
        self._lock = threading.Lock()
        self._key = ""
        self._read_at: float | None = None

    def __call__(self) -> str:
        """Return the key; empty if the model needs none. Raises NetworkError."""
        with self._lock:
            now = time.monotonic()
            if self._read_at is None or now - self._read_at > KEY_SECONDS:
                self._key = self._read()
                self._read_at = now
            return self._key

    def _read(self) -> str:
        if not self._model.needs_key:
            return ""
        name = self._model.name
        try:
            return self._get_secret(name)
        except ApiKeyNotFound:
            raise NetworkError(
                f'There is no API key for the model "{name}": codekernel key set {name}'
            ) from None
