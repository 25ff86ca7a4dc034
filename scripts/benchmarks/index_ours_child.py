"""Our index in a child process, measured as the rivals are: imports done and the model loaded."""

# ruff: noqa: PLC0415 - how long the imports take is measured

import sys
import tempfile
import time
from pathlib import Path

from index_disk import DIMENSIONS, VECTOR_BYTES, look, settled
from rival_child import Answer, Stopwatch, resident_megabytes, serve

# As the kernel itself sets it.
SWITCH_INTERVAL_SECONDS = 0.0002
LOOK_SECONDS = 0.005
INPUT_LENGTH = 1500
HITS = 10
FEW_VERSIONS = 10


def load() -> tuple[dict[str, float], dict[str, Answer]]:
    """Import everything that indexing needs and load the static model."""
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    watch = Stopwatch()
    import lancedb  # noqa: F401 - so that it is there already
    import numpy as np  # noqa: F401
    import onnxruntime  # noqa: F401
    import pyarrow as pa  # noqa: F401
    import tantivy  # noqa: F401

    from kernel.domain.cancel import CancelToken
    from kernel.domain.settings import Performance
    from kernel.indexing import vector_arm  # noqa: F401
    from kernel.indexing.plan import ConfigPlan, IndexPlan
    from kernel.indexing.repository_index import RepositoryIndex
    from kernel.inference.shelf import Shelf
    from kernel.search.searcher import Searcher
    from kernel.settings.box import STATIC, box_folder
    from kernel.walking.walk import Walk

    imported = watch.seconds()
    shelf, model = Shelf(), box_folder() / STATIC
    lent = shelf.embedder(model, Performance())
    embedder = lent.__enter__()  # lent for the life of the process
    if embedder.dimensions != DIMENSIONS:
        sys.exit(f"The static model has {embedder.dimensions} dimensions, not {DIMENSIONS}.")
    ready = {"import_seconds": imported, "model_seconds": watch.seconds() - imported}
    plan = IndexPlan(configs=(ConfigPlan("static", model, INPUT_LENGTH),))

    def index(request: dict[str, object]) -> dict[str, object]:
        root, peak = Path(str(request["root"])), 0.0
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            watch = Stopwatch()
            made = RepositoryIndex(root, folder, lambda: shelf)
            made.start(plan)
            while not made.idle:
                time.sleep(LOOK_SECONDS)
                peak = max(peak, resident_megabytes())
            took = {"seconds": watch.seconds(), "cpu_seconds": watch.cpu_seconds()}
            disk = look(folder)
            if disk.versions > FEW_VERSIONS:
                disk = settled(folder)
            status = made.status()
            sizes = [file.size for file in made.store.catalogue.files().values()]
            made.close()
        vectors = status.configs[0].chunks
        return {
            **took,
            "files": status.files,
            "chunks": status.chunks,
            "vectors": vectors,
            "rss_mb": peak,
            "disk_bytes": disk.total,
            "source_bytes": sum(sizes),
            "vector_bytes": vectors * VECTOR_BYTES,
            "versions": disk.versions,
        }

    def first_answer(request: dict[str, object]) -> dict[str, object]:
        """Index anew until the query has an answer, then leave off: how long either takes."""
        root, query = Path(str(request["root"])), str(request["query"])
        limit = float(str(request["limit_seconds"]))
        with tempfile.TemporaryDirectory() as name:
            watch = Stopwatch()
            made = RepositoryIndex(root, Path(name), lambda: shelf)
            made.start(plan)
            searcher = Searcher(root, made)
            while not (found := searcher.search(query, HITS)) and watch.seconds() < limit:
                time.sleep(LOOK_SECONDS)
            seconds = watch.seconds()
            made.close()
        closing = watch.seconds() - seconds
        return {"seconds": seconds, "hits": len(found), "close_seconds": closing}

    def walk(request: dict[str, object]) -> dict[str, object]:
        watch = Stopwatch()
        found = sum(1 for _ in Walk(Path(str(request["root"]))).files(CancelToken()))
        return {"seconds": watch.seconds(), "cpu_seconds": watch.cpu_seconds(), "files": found}

    return ready, {"index": index, "first_answer": first_answer, "walk": walk}


if __name__ == "__main__":
    serve(load)
