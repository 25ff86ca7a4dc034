"""What index_ours_child.py does when asked; everything heavy is imported with this module."""

import tempfile
import time
from pathlib import Path

import codekernel  # noqa: F401 - first: it switches onnxruntime's telemetry off

# isort: split
import onnxruntime  # noqa: F401
import tantivy  # noqa: F401
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import Performance
from codekernel.files.walk import FileWalker
from codekernel.indexing import vector_index  # noqa: F401
from codekernel.indexing.index_plan import ConfigPlan, IndexPlan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.inference.model_folder import STATIC_MODEL, get_bundled_folder
from codekernel.inference.model_pool import Embedder, ModelPool
from codekernel.search.pipeline import Searcher
from codekernel.settings.local_models import build_default_embedding_configs
from codekernel.storage.vectors.vector_table import VectorTable
from index_disk import VECTOR_BYTES, look, wait_until_settled
from rival_child import Stopwatch, resident_megabytes

# A look wakes a thread that then waits for the interpreter: at 5 ms they were 3 % of all CPU.
LOOK_SECONDS = 0.02
# Looks at the memory, which the rivals do once, are to be no part of what indexing costs.
LOOKS_PER_MEMORY_LOOK = 5
INPUT_LENGTH = build_default_embedding_configs()[0].max_chunk_chars
HITS = 10
# With no more than these there is nothing to tidy; with more, the kernel is given time to do it.
FEW_VERSIONS = 10
MODEL = get_bundled_folder() / STATIC_MODEL
PLAN = IndexPlan(configs=(ConfigPlan("static", MODEL, INPUT_LENGTH),))


class Work:
    """Indexes with a model that stays loaded."""

    def __init__(self) -> None:
        self._shelf = ModelPool()
        self._lent = self._shelf.acquire_embedder(MODEL, Performance())
        self.embedder: Embedder = self._lent.__enter__()  # until the process ends
        # The process of LanceDB is there already, as what the rivals import is.
        with tempfile.TemporaryDirectory() as name:
            VectorTable.open(Path(name) / "vectors", self.embedder.dimensions).close()

    def index(self, request: dict[str, object]) -> dict[str, object]:
        """Index ``root`` into a new folder, until idle."""
        root, peak = Path(str(request["root"])), 0.0
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            watch = Stopwatch()
            made = self._started(root, folder)
            looks = 0
            while not made.is_idle:
                time.sleep(LOOK_SECONDS)
                looks += 1
                if looks % LOOKS_PER_MEMORY_LOOK == 0:
                    peak = max(peak, resident_megabytes())
            peak = max(peak, resident_megabytes())
            seconds, cpu_seconds = watch.seconds(), watch.cpu_seconds()
            disk = look(folder)
            if disk.versions > FEW_VERSIONS:
                disk = wait_until_settled(folder)
            status = made.get_status()
            source = sum(file.size for file in made.store.catalog.list_files().values())
            made.close()
        vectors = status.configs[0].chunks if status.configs else 0
        return {
            "seconds": seconds,
            "cpu_seconds": cpu_seconds,
            "files": status.files,
            "chunks": status.chunks,
            "rss_mb": peak,
            "disk_bytes": disk.total,
            "source_bytes": source,
            "vector_bytes": vectors * VECTOR_BYTES,
            "versions": disk.versions,
        }

    def first_answer(self, request: dict[str, object]) -> dict[str, object]:
        """Index anew until the query has an answer, then leave off: how long either takes."""
        root, query = Path(str(request["root"])), str(request["query"])
        limit = float(str(request["limit_seconds"]))
        with tempfile.TemporaryDirectory() as name:
            watch = Stopwatch()
            made = self._started(root, Path(name))
            searcher = Searcher(root, made)
            while not (found := searcher.search(query, HITS)) and watch.seconds() < limit:
                time.sleep(LOOK_SECONDS)
            seconds = watch.seconds()
            made.close()
            closing = watch.seconds() - seconds
        return {"seconds": seconds, "hits": len(found), "close_seconds": closing}

    def walk(self, request: dict[str, object]) -> dict[str, object]:
        """List what is to be indexed."""
        watch = Stopwatch()
        found = sum(1 for _ in FileWalker(Path(str(request["root"]))).iterate_files(CancelToken()))
        return {"seconds": watch.seconds(), "cpu_seconds": watch.cpu_seconds(), "files": found}

    def _started(self, root: Path, folder: Path) -> RepositoryIndex:
        made = RepositoryIndex(root, folder, lambda: self._shelf)
        made.start(PLAN)
        return made
