"""An index with its call graph, made in a folder that is thrown away afterwards."""

import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kernel.callgraph.graph import CallGraph
from kernel.domain.call_chain import ChainQuestion
from kernel.domain.cancel import CancelToken
from kernel.domain.courtesy import Courtesy, Pace
from kernel.indexing.indexer import Indexer
from kernel.settings.box import default_configs
from kernel.storage.index_store import IndexStore, open_index

LONGEST_FILL_SECONDS = 3600.0


class Nobody:
    """Listens to an indexer and does nothing about it."""

    def began(self, paths: Iterable[str]) -> None:
        """Files are about to be indexed."""

    def indexed(self, files: Sequence[tuple[int, str]]) -> None:
        """Files are indexed."""

    def ended(self, path: str) -> None:
        """A file is gone."""

    def between_batches(self) -> None:
        """A moment."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """The index of a repository, and how long its parts took."""

    store: IndexStore
    graph: CallGraph
    indexer: Indexer
    index_seconds: float
    fill_seconds: float


@contextmanager
def indexed(repo: Path) -> Iterator[Indexed]:
    """The words of a repository and its call graph; no vectors, for calls need none."""
    with tempfile.TemporaryDirectory() as name:
        store = open_index(Path(name) / "index")
        indexer = Indexer(repo, store, Nobody(), Pace(CancelToken(), Courtesy()))
        indexer.input_lengths = (default_configs()[0].input_length,)
        began = time.perf_counter()
        indexer.sweep()
        swept = time.perf_counter()
        graph = CallGraph(store.folder, store.catalogue)
        try:
            graph.ask(ChainQuestion("nothing"), CancelToken(), LONGEST_FILL_SECONDS)
            filled = time.perf_counter()
            yield Indexed(store, graph, indexer, swept - began, filled - swept)
        finally:
            graph.close()
            store.close()
