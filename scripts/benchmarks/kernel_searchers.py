"""The product's own search for ../shared/bench/score.py: a real index in a temporary folder.

``CODEKERNEL_INPUT_LENGTH`` tries another input length than the default settings have.
``CODEKERNEL_BENCH_CACHE`` names a folder in which indexes are kept, so that a second run, with
another ranking, takes seconds; its index times mean nothing.
"""

import os
import tempfile
import time
from pathlib import Path

from codekernel.domain.settings import Performance
from codekernel.indexing.index_plan import ConfigPlan, IndexPlan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.inference.model_folder import STATIC_MODEL, TRANSFORMER_MODEL, get_bundled_folder
from codekernel.inference.model_pool import ModelPool
from codekernel.search.pipeline import Searcher
from codekernel.search.ranking import weigh_cosines
from codekernel.settings.local_models import build_default_embedding_configs
from kept_vectors import KeptVectors

LOOK_SECONDS = 0.005

Hit = tuple[str, int, int]


class Static:
    """The default settings of a small machine: the static model and words."""

    name = "codekernel, static model"
    models: tuple[str, ...] = (STATIC_MODEL,)

    def __init__(self) -> None:
        self._shelf = ModelPool()
        length = os.environ.get("CODEKERNEL_INPUT_LENGTH")
        configs = tuple(
            ConfigPlan(
                config.name,
                get_bundled_folder() / config.model_name,
                int(length or config.max_chunk_chars),
            )
            for config in build_default_embedding_configs()
            if config.model_name in self.models
        )
        self._plan = IndexPlan(configs=configs)

    def index(self, root: Path) -> tuple[RepositoryIndex, Searcher]:
        """Index everything and wait until it is done."""
        folder = self._folder(root)
        index = RepositoryIndex(root, folder, lambda: self._shelf)
        index.start(self._plan)
        while not index.is_idle:
            time.sleep(LOOK_SECONDS)
        return index, self._searcher(root, index)

    def _searcher(self, root: Path, index: RepositoryIndex) -> Searcher:
        return Searcher(root, index)

    def _folder(self, root: Path) -> Path:
        cache = os.environ.get("CODEKERNEL_BENCH_CACHE")
        if not cache:
            return Path(tempfile.mkdtemp(prefix="codekernel-bench-"))
        lengths = "-".join(map(str, self._plan.chunk_sizes))
        name = root.as_posix().strip("/").replace("/", "+")
        return Path(cache) / f"{'+'.join(self.models)}-{lengths}" / name

    def search(self, handle: tuple[RepositoryIndex, Searcher], query: str, k: int) -> list[Hit]:
        """The product's hits, with lines counted from 1."""
        return [
            (hit.chunk.path, hit.chunk.begin_line + 1, hit.chunk.end_line)
            for hit in handle[1].search(query, k)
        ]

    def close(self, handle: tuple[RepositoryIndex, Searcher]) -> None:
        """End the index's threads; the folder goes with the machine's temporary files."""
        handle[0].close()


class Reranked(Static):
    """The default settings of a small machine, ``accuracy``, and the default reranker."""

    name = "codekernel, static model, accuracy"

    def __init__(self) -> None:
        super().__init__()
        folder = get_bundled_folder() / TRANSFORMER_MODEL
        self._lent = self._shelf.acquire_embedder(folder, Performance())
        self.reader = KeptVectors(self._lent.__enter__())  # until the process ends

    def _searcher(self, root: Path, index: RepositoryIndex) -> Searcher:
        read = self.reader.compute_cosines
        return Searcher(root, index, lambda query, texts: weigh_cosines(read(query, texts)))

    def search(self, handle: tuple[RepositoryIndex, Searcher], query: str, k: int) -> list[Hit]:
        """The product's hits with ``accuracy``."""
        return [
            (hit.chunk.path, hit.chunk.begin_line + 1, hit.chunk.end_line)
            for hit in handle[1].search(query, k, accuracy=True)
        ]


class Transformer(Static):
    """The default settings of a larger machine: both models and words; hours for all of them."""

    name = "codekernel, both models"
    models = (STATIC_MODEL, TRANSFORMER_MODEL)
