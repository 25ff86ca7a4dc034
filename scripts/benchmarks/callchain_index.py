"""An index with its call graph, made in a folder that is thrown away afterwards."""

import tempfile
import time
from collections import deque
from collections.abc import Iterator
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
        indexer = Indexer(repo, store, WorkControl(CancelToken(), BackgroundThrottle()))
        indexer.chunk_sizes = (build_default_embedding_configs()[0].max_chunk_chars,)
        began = time.perf_counter()
        deque(indexer.scan_repository(), maxlen=0)
        swept = time.perf_counter()
        graph = CallGraph(store.folder, store.catalog)
        try:
            graph.ask(CallChainQuery("nothing"), CancelToken(), FILL_TIMEOUT_SECONDS)
            filled = time.perf_counter()
            yield Indexed(store, graph, indexer, swept - began, filled - swept)
        finally:
            graph.close()
            store.close()
