"""What index_ours_child.py does when asked; everything heavy is imported with this module."""

import tempfile
import time
from pathlib import Path

import kernel  # noqa: F401 - first: it switches onnxruntime's telemetry off

# isort: split
import lancedb  # noqa: F401 - the kernel imports it when first needed; here it is there already
import onnxruntime  # noqa: F401
import pyarrow as pa  # noqa: F401
import tantivy  # noqa: F401
from index_disk import VECTOR_BYTES, look, settled
from rival_child import Stopwatch, resident_megabytes

from kernel.domain.cancel import CancelToken
from kernel.domain.settings import Performance
from kernel.indexing import vector_arm  # noqa: F401
from kernel.indexing.plan import ConfigPlan, IndexPlan
from kernel.indexing.repository_index import RepositoryIndex
from kernel.inference.embedder import Embedder
from kernel.inference.shelf import Shelf
from kernel.search.searcher import Searcher
from kernel.settings.box import STATIC, box_folder, default_configs
from kernel.walking.walk import Walk

LOOK_SECONDS = 0.005
INPUT_LENGTH = default_configs()[0].input_length
HITS = 10
# With no more than these there is nothing to tidy; with more, the kernel is given time to do it.
FEW_VERSIONS = 10
MODEL = box_folder() / STATIC
PLAN = IndexPlan(configs=(ConfigPlan("static", MODEL, INPUT_LENGTH),))


class Work:
    """Indexes with a model that stays loaded."""

    def __init__(self) -> None:
        self._shelf = Shelf()
        self._lent = self._shelf.embedder(MODEL, Performance())
        self.embedder: Embedder = self._lent.__enter__()  # until the process ends

    def index(self, request: dict[str, object]) -> dict[str, object]:
        """Index ``root`` into a new folder, until idle."""
        root, peak = Path(str(request["root"])), 0.0
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            watch = Stopwatch()
            made = self._started(root, folder)
            while not made.idle:
                time.sleep(LOOK_SECONDS)
                peak = max(peak, resident_megabytes())
            seconds, cpu_seconds = watch.seconds(), watch.cpu_seconds()
            disk = look(folder)
            if disk.versions > FEW_VERSIONS:
                disk = settled(folder)
            status = made.status()
            source = sum(file.size for file in made.store.catalogue.files().values())
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
        found = sum(1 for _ in Walk(Path(str(request["root"]))).files(CancelToken()))
        return {"seconds": watch.seconds(), "cpu_seconds": watch.cpu_seconds(), "files": found}

    def _started(self, root: Path, folder: Path) -> RepositoryIndex:
        made = RepositoryIndex(root, folder, lambda: self._shelf)
        made.start(PLAN)
        return made
