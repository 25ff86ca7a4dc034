"""The product's own search for ../shared/bench/score.py: a real index in a temporary folder.

``CODEKERNEL_INPUT_LENGTH`` tries another input length than the default settings have.
``CODEKERNEL_BENCH_CACHE`` names a folder in which indexes are kept, so that a second run, with
another ranking, takes seconds; its index times mean nothing. ``CODEKERNEL_RERANKER`` names the
folder of the reranker that ``Reranked`` asks.
"""

import os
import tempfile
import time
from pathlib import Path

from kernel.domain.cancel import CancelToken
from kernel.domain.settings import Performance
from kernel.indexing.plan import ConfigPlan, IndexPlan
from kernel.indexing.repository_index import RepositoryIndex
from kernel.inference.shelf import Shelf
from kernel.search.searcher import Searcher
from kernel.settings.box import STATIC, TRANSFORMER, box_folder, default_configs

LOOK_SECONDS = 0.005

Hit = tuple[str, int, int]


class Static:
    """The default settings of a small machine: the static model and words."""

    name = "codekernel, static model"
    models: tuple[str, ...] = (STATIC,)

    def __init__(self) -> None:
        self._shelf = Shelf()
        length = os.environ.get("CODEKERNEL_INPUT_LENGTH")
        configs = tuple(
            ConfigPlan(
                config.name,
                box_folder() / config.model_name,
                int(length or config.input_length),
            )
            for config in default_configs()
            if config.model_name in self.models
        )
        self._plan = IndexPlan(configs=configs)

    def index(self, root: Path) -> tuple[RepositoryIndex, Searcher]:
        """Index everything and wait until it is done."""
        folder = self._folder(root)
        index = RepositoryIndex(root, folder, lambda: self._shelf)
        index.start(self._plan)
        while not index.idle:
            time.sleep(LOOK_SECONDS)
        return index, self._searcher(root, index)

    def _searcher(self, root: Path, index: RepositoryIndex) -> Searcher:
        return Searcher(root, index)

    def _folder(self, root: Path) -> Path:
        cache = os.environ.get("CODEKERNEL_BENCH_CACHE")
        if not cache:
            return Path(tempfile.mkdtemp(prefix="codekernel-bench-"))
        lengths = "-".join(map(str, self._plan.input_lengths))
        name = root.as_posix().strip("/").replace("/", "+")
        return Path(cache) / f"{'+'.join(self.models)}-{lengths}" / name

    def search(self, handle: tuple[RepositoryIndex, Searcher], query: str, k: int) -> list[Hit]:
        """The product's hits, with lines counted from 1."""
        return [
            (hit.chunk.path, hit.chunk.chunk.begin_line + 1, hit.chunk.chunk.end_line)
            for hit in handle[1].search(query, k)
        ]

    def close(self, handle: tuple[RepositoryIndex, Searcher]) -> None:
        """End the index's threads; the folder goes with the machine's temporary files."""
        handle[0].close()


class Reranked(Static):
    """The default settings of a small machine, ``accuracy`` and a reranker."""

    def __init__(self) -> None:
        super().__init__()
        folder = Path(os.environ["CODEKERNEL_RERANKER"])
        self.name = f"{self.name}, accuracy by {folder.name}"
        self._lent = self._shelf.reranker(folder, Performance())
        self._reranker = self._lent.__enter__()  # until the process ends

    def _searcher(self, root: Path, index: RepositoryIndex) -> Searcher:
        cancel = CancelToken()
        return Searcher(
            root, index, lambda query, texts: self._reranker.score(query, texts, cancel)
        )

    def search(self, handle: tuple[RepositoryIndex, Searcher], query: str, k: int) -> list[Hit]:
        """The product's hits with ``accuracy``."""
        return [
            (hit.chunk.path, hit.chunk.chunk.begin_line + 1, hit.chunk.chunk.end_line)
            for hit in handle[1].search(query, k, accuracy=True)
        ]


class Transformer(Static):
    """The default settings of a larger machine: both models and words; hours for all of them."""

    name = "codekernel, both models"
    models = (STATIC, TRANSFORMER)
