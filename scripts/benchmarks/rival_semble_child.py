"""semble in a child process: ``rival_semble_child.py MODEL [--all] [--damped]``.

model2vec adds a word's vector once per occurrence, our model sqrt(occurrences) times, and it was
fitted for that. ``--damped`` gives semble our sum, so that ranking is compared and not summing; it
is slower in numpy, so times are measured without.
"""

# ruff: noqa: PLC0415 - how long the imports take is measured

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rival_child import Answer, Stopwatch, resident_megabytes, serve

MODEL = sys.argv[1]
MIN_LENGTH = 1e-12  # as in our graph: a text without words has the zero vector


def load() -> tuple[dict[str, float], dict[str, Answer]]:
    """Import semble, load the model."""
    watch = Stopwatch()
    from semble import SembleIndex
    from semble.index.dense import load_model
    from semble.types import ContentType

    imported = watch.seconds()
    model, _ = load_model(MODEL)
    ready = {"import_seconds": imported, "model_seconds": watch.seconds() - imported}
    if "--damped" in sys.argv:
        _damp(model)
    content = tuple(ContentType) if "--all" in sys.argv else (ContentType.CODE,)
    held: dict[str, SembleIndex] = {}

    def index(request: dict[str, Any]) -> dict[str, object]:
        held.clear()
        watch = Stopwatch()
        made = SembleIndex.from_path(str(request["root"]), content=content, model_path=MODEL)
        seconds, cpu_seconds = watch.seconds(), watch.cpu_seconds()
        held["index"] = made
        with tempfile.TemporaryDirectory() as folder:
            watch = Stopwatch()
            made.save(folder)
            save_seconds = watch.seconds()
        return {
            "seconds": seconds,
            "cpu_seconds": cpu_seconds,
            "save_seconds": save_seconds,
            "files": made.stats.indexed_files,
            "chunks": made.stats.total_chunks,
            "rss_mb": resident_megabytes(),
        }

    def search(request: dict[str, Any]) -> dict[str, object]:
        watch = Stopwatch()
        found = held["index"].search(request["query"], top_k=request["k"])
        took = watch.milliseconds()
        chunks = [result.chunk for result in found]
        hits = [[chunk.file_path, chunk.start_line, chunk.end_line] for chunk in chunks]
        return {**took, "hits": hits}

    return ready, {"index": index, "search": search}


def _damp(model: Any) -> None:
    """Make the model count a word that stands n times sqrt(n) times."""
    import numpy as np
    from safetensors import safe_open

    with safe_open(Path(MODEL) / "model.safetensors", framework="numpy") as file:
        row_of = file.get_tensor("rows")

    def encode_batch(sentences: Sequence[str], *_ignored: object) -> object:
        vectors = np.zeros((len(sentences), model.dim), np.float32)
        for number, tokens in enumerate(model.tokenize(sentences)):
            _, first, times = np.unique(row_of[tokens], return_index=True, return_counts=True)
            if len(first):
                words = model.embedding[np.asarray(tokens)[first]]
                vectors[number] = np.sqrt(times).astype(np.float32) @ words
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / np.maximum(length, MIN_LENGTH)

    model._encode_batch = encode_batch  # noqa: SLF001 - it has no public place to change


if __name__ == "__main__":
    serve(load)
