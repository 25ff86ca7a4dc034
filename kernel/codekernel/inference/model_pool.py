"""Load each model once, share it by reference count and unload it when its last user is done."""

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

from codekernel.domain.concurrency import RefCounted
from codekernel.domain.settings import Performance
from codekernel.inference.batching import ThreadBudget
from codekernel.inference.embedder import Embedder
from codekernel.inference.model_folder import ModelFolder, read_model_folder
from codekernel.inference.providers import CPU, detect_hardware, select_providers
from codekernel.inference.reranker import Reranker

logger = logging.getLogger(__name__)

_ModelKey = tuple[str, tuple[str, ...], int]

ModelT = TypeVar("ModelT", Embedder, Reranker)


class ModelPool:
    """Shares embedders and rerankers by folder; a folder whose files changed is another model."""

    def __init__(self) -> None:
        self._embedders = RefCounted[_ModelKey, Embedder](close=Embedder.close)
        self._rerankers = RefCounted[_ModelKey, Reranker](close=Reranker.close)
        self._thread_budgets: dict[int, ThreadBudget] = {}

    def acquire_embedder(
        self, path: Path, performance: Performance
    ) -> AbstractContextManager[Embedder]:
        """Return the embedder in a folder, loaded for as long as the block lasts."""
        return self._acquire(self._embedders, Embedder, path, performance)

    def acquire_reranker(
        self, path: Path, performance: Performance
    ) -> AbstractContextManager[Reranker]:
        """Return the reranker in a folder, loaded for as long as the block lasts."""
        return self._acquire(self._rerankers, Reranker, path, performance)

    def _acquire(
        self,
        models: RefCounted[_ModelKey, ModelT],
        model_type: Callable[[ModelFolder, tuple[str, ...], ThreadBudget], ModelT],
        path: Path,
        performance: Performance,
    ) -> AbstractContextManager[ModelT]:
        folder, providers = read_model_folder(path), _choose_providers(performance)
        budget = self._thread_budgets.setdefault(
            performance.max_threads, ThreadBudget.from_max_threads(performance.max_threads)
        )

        def load() -> ModelT:
            started = time.monotonic()
            model = model_type(folder, providers, budget)
            logger.info("loaded %s in %.1f s", folder.path, time.monotonic() - started)
            return model

        return models.acquire((folder.fingerprint, providers, performance.max_threads), load)


def _choose_providers(performance: Performance) -> tuple[str, ...]:
    if not performance.use_cuda and not performance.use_coreml:
        return (CPU,)
    chosen = tuple(select_providers(performance, detect_hardware()))
    if chosen == (CPU,):
        logger.warning("the accelerator chosen in the settings does not work; the CPU is used")
    return chosen
