"""The loaded models, each loaded once for everybody and unloaded when nobody uses it."""

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

from kernel.domain.lending import Lending
from kernel.domain.settings import Performance
from kernel.inference.embedder import Embedder
from kernel.inference.model_folder import ModelFolder, read_model_folder
from kernel.inference.providers import CPU, available_hardware, selected_providers
from kernel.inference.reranker import Reranker
from kernel.inference.workers import Cores

logger = logging.getLogger(__name__)

_Key = tuple[str, tuple[str, ...], int]
Model = TypeVar("Model", Embedder, Reranker)


class Shelf:
    """Lends embedders and rerankers by folder; a folder whose files changed is another model."""

    def __init__(self) -> None:
        self._embedders: Lending[_Key, Embedder] = Lending(close=Embedder.close)
        self._rerankers: Lending[_Key, Reranker] = Lending(close=Reranker.close)
        self._cores: dict[int, Cores] = {}

    def embedder(self, path: Path, performance: Performance) -> AbstractContextManager[Embedder]:
        """The embedder in a folder, for as long as the block lasts."""
        return self._lend(self._embedders, Embedder, path, performance)

    def reranker(self, path: Path, performance: Performance) -> AbstractContextManager[Reranker]:
        """The reranker in a folder, for as long as the block lasts."""
        return self._lend(self._rerankers, Reranker, path, performance)

    def _lend(
        self,
        lending: Lending[_Key, Model],
        kind: Callable[[ModelFolder, tuple[str, ...], Cores], Model],
        path: Path,
        performance: Performance,
    ) -> AbstractContextManager[Model]:
        folder, providers = read_model_folder(path), _providers(performance)
        cores = self._cores.setdefault(performance.max_threads, Cores.of(performance.max_threads))

        def load() -> Model:
            started = time.monotonic()
            model = kind(folder, providers, cores)
            logger.info("loaded %s in %.1f s", folder.path, time.monotonic() - started)
            return model

        return lending.lend((folder.fingerprint, providers, performance.max_threads), load)


def _providers(performance: Performance) -> tuple[str, ...]:
    if not performance.use_cuda and not performance.use_coreml:
        return (CPU,)
    chosen = tuple(selected_providers(performance, available_hardware()))
    if chosen == (CPU,):
        logger.warning("the accelerator chosen in the settings does not work; the CPU is used")
    return chosen
