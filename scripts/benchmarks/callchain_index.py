"""An index with its call graph, made in a folder that is thrown away afterwards."""

import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from codekernel.callgraph.graph import CallGraph
from codekernel.domain.call_graph import CallChainQuery
from codekernel.domain.concurrency import BackgroundThrottle, CancelToken, WorkControl
from codekernel.indexing.indexer import Indexer
from codekernel.settings.local_models import build_default_embedding_configs
from codekernel.storage.index_store import IndexStore, open_index

FILL_TIMEOUT_SECONDS = 3600.0


class Nobody:
    """Listens to an indexer and does nothing about it."""

    def on_files_started(self, paths: Iterable[str]) -> None:
        """Files are about to be indexed."""

    def on_files_indexed(self, files: Sequence[tuple[int, str]]) -> None:
        """Files are indexed."""

    def on_file_finished(self, path: str) -> None:
        """A file is gone."""

    def on_batch_committed(self) -> None:
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
        indexer = Indexer(repo, store, Nobody(), WorkControl(CancelToken(), BackgroundThrottle()))
        indexer.chunk_sizes = (build_default_embedding_configs()[0].max_chunk_chars,)
        began = time.perf_counter()
        indexer.scan_repository()
        swept = time.perf_counter()
        graph = CallGraph(store.folder, store.catalog)
        try:
            graph.ask(CallChainQuery("nothing"), CancelToken(), FILL_TIMEOUT_SECONDS)
            filled = time.perf_counter()
            yield Indexed(store, graph, indexer, swept - began, filled - swept)
        finally:
            graph.close()
            store.close()
