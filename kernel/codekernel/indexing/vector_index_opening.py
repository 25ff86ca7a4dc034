"""Open the vector index of one config, its model on this machine or behind an address."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from codekernel.domain.concurrency import BackgroundThrottle
from codekernel.domain.settings import Performance, RemoteModel
from codekernel.errors import InvalidModel
from codekernel.indexing.index_plan import ConfigPlan, ModelSources
from codekernel.indexing.vector_index import VectorIndex
from codekernel.storage.index_store import IndexStore

if TYPE_CHECKING:  # seldom needed
    from codekernel.indexing.remote_indexing import RemoteIndexing


def open_vector_index(  # noqa: PLR0913, PLR0917 - what it is made of
    root: Path,
    config: ConfigPlan,
    performance: Performance,
    sources: ModelSources,
    store: IndexStore,
    throttle: BackgroundThrottle,
) -> VectorIndex:
    """Load the model and open its vectors. Raises InvalidModel, StorageError, NetworkError."""

    @contextmanager
    def open_remote(model: RemoteModel) -> "Iterator[RemoteIndexing]":
        if sources.get_remote_models is None:
            raise InvalidModel(f"{model.name} is remote, and nothing is sent from here")
        from codekernel.indexing.remote_indexing import RemoteIndexing  # noqa: PLC0415 - seldom needed, a quarter of a second

        models = sources.get_remote_models()
        with models.acquire_embedder(model) as embedder:
            yield RemoteIndexing(root, embedder, models.consents)

    return VectorIndex(
        config,
        performance,
        sources.get_model_pool(),
        store,
        throttle,
        get_team_vectors=sources.get_team_vectors,
        open_remote=open_remote,
    )
