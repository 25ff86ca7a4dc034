"""LanceDB in a child process: one table of vectors, made anew by every request to index."""

# ruff: noqa: PLC0415 - how long the imports take is measured

import tempfile
from typing import Any

from rival_child import Answer, Stopwatch, resident_megabytes, serve

DIMENSIONS = 256  # of the static model
SEED = 4


def load() -> tuple[dict[str, float], dict[str, Answer]]:
    """Import LanceDB."""
    watch = Stopwatch()
    import lancedb
    import numpy as np
    import pyarrow as pa

    ready = {"import_seconds": watch.seconds(), "model_seconds": 0.0}
    held: dict[str, Any] = {}

    def index(request: dict[str, Any]) -> dict[str, object]:
        source = request["vectors"]
        if isinstance(source, int):
            vectors = np.random.default_rng(SEED).standard_normal((source, DIMENSIONS), np.float32)
        else:
            vectors = np.load(str(source)).astype(np.float32, copy=False)
        if held:
            held["folder"].cleanup()
        folder = tempfile.TemporaryDirectory()
        watch = Stopwatch()
        column = pa.FixedSizeListArray.from_arrays(vectors.ravel(), vectors.shape[1])
        rows = pa.table({"id": pa.array(range(len(vectors))), "vector": column})
        table = lancedb.connect(folder.name).create_table("vectors", rows)
        seconds, cpu_seconds = watch.seconds(), watch.cpu_seconds()
        held.update(folder=folder, table=table, vectors=vectors)
        return {
            "seconds": seconds,
            "cpu_seconds": cpu_seconds,
            "chunks": len(vectors),
            "rss_mb": resident_megabytes(),
        }

    def search(request: dict[str, Any]) -> dict[str, object]:
        vector = held["vectors"][request["number"]]
        watch = Stopwatch()
        asked = held["table"].search(vector).metric("cosine").select(["id"]).limit(request["k"])
        found = asked.to_arrow()
        took = watch.milliseconds()
        return {**took, "hits": found["id"].to_pylist()}

    return ready, {"index": index, "search": search}


if __name__ == "__main__":
    serve(load)
