"""Kinds of vector index for a base: ``base_vectors.py --repos DIR [--rows N] [--kinds ...]``.

A table of the vectors of real chunks, on a disk; beyond them, of copies that were moved at random.
Prints what building each kind of LanceDB's indexes takes, and how many of the best ten the
questions of the retrieval benchmark find with it, by how many partitions are read and exact vectors
fetched.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from clients_place import ROOT
from codekernel.base.part_building import PartJob, chunk_files, embed_chunks
from codekernel.base.sources import BaseSource, split_source
from codekernel.domain.settings import Performance
from codekernel.inference.model_folder import STATIC_MODEL, get_bundled_folder
from codekernel.inference.model_pool import Embedder, ModelPool
from codekernel.sharing.object_store import StorePlace
from codekernel.storage.base.base_table import ROWS_PER_PARTITION, SAMPLED_ROWS
from lancedb.index import IvfFlat, IvfPq, IvfRq, IvfSq

CANDIDATES, QUESTIONS = 500, 150
CHUNK_CHARS, BATCH_ROWS, NOISE = 950, 20_000, 0.05
DEPTHS = ((20, 0), (20, 1), (32, 0), (32, 1), (50, 1), (32, 5))

KINDS: dict[str, Callable[..., Any]] = {
    "sq": IvfSq,
    "rq": IvfRq,
    "flat": IvfFlat,
    "pq": lambda **options: IvfPq(num_sub_vectors=32, **options),
}

MODEL = get_bundled_folder() / STATIC_MODEL

Floats = npt.NDArray[np.float32]


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", type=Path, default=ROOT.parent / "shared" / "bench")
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--hits", type=int, default=10)
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=["sq", "rq"])
    options = parser.parse_args()
    with ModelPool().acquire_embedder(MODEL, Performance()) as embedder:
        vectors = embed_repositories(embedder, options.repos, options.rows)
        files = sorted((options.bench / "queries").glob("*.json"))
        asked = [row["query"] for file in files for row in json.loads(file.read_text("utf-8"))]
        step = max(1, len(asked) // QUESTIONS)
        queries = np.stack([embedder.embed_query(query) for query in asked[::step]])
    with tempfile.TemporaryDirectory() as folder:
        table = write_table(Path(folder), vectors, options.rows)
        nearest = find_nearest(table, queries, options.hits)
        for kind in options.kinds:
            measure(table, kind, queries, nearest)
    return 0


def embed_repositories(embedder: Embedder, repos: Path, rows: int) -> npt.NDArray[np.float16]:
    """Return the vectors of the chunks of so many repositories as are needed."""
    found: list[npt.NDArray[np.float16]] = []
    for root in sorted(path for path in repos.iterdir() if path.is_dir()):
        for part in split_source(BaseSource("x", root, None), root, ""):
            job = PartJob(
                *("x", root, part.files, part.name, StorePlace("")),
                *(MODEL, Performance(), CHUNK_CHARS),
            )
            found.append(embed_chunks(embedder, chunk_files(job), CHUNK_CHARS))
        if sum(map(len, found)) >= rows:
            break
    return np.concatenate(found)[:rows]


def write_table(folder: Path, vectors: npt.NDArray[np.float16], rows: int) -> Any:
    """Return a table of so many rows."""
    size = vectors.shape[1]
    schema = pa.schema([("id", pa.int64()), ("vector", pa.list_(pa.float16(), size))])
    noise = np.random.default_rng(1)

    def iterate() -> Iterator[Any]:
        for first in range(0, rows, BATCH_ROWS):
            places = np.arange(first, min(first + BATCH_ROWS, rows))
            some = vectors[places % len(vectors)].astype(np.float32)
            if first >= len(vectors):
                some += noise.normal(scale=NOISE, size=some.shape).astype(np.float32)
                some /= np.maximum(np.linalg.norm(some, axis=1, keepdims=True), 1e-6)
            flat = pa.array(some.astype(np.float16).ravel())
            columns = [pa.array(places), pa.FixedSizeListArray.from_arrays(flat, size)]
            yield pa.record_batch(columns, schema=schema)

    print(f"{rows} rows, {min(rows, len(vectors))} of them real")
    reader = pa.RecordBatchReader.from_batches(schema, iterate())
    return lancedb.connect(folder).create_table("vectors", data=reader, schema=schema)


def find_nearest(table: Any, queries: Floats, hits: int) -> list[dict[int, float]]:
    """Return the nearest rows of each query and their distances, nearest first, twice so many."""
    return [
        {
            row["id"]: row["_distance"]
            for row in search(table, query).bypass_vector_index().limit(2 * hits).to_list()
        }
        for query in queries
    ]


def search(table: Any, query: Floats) -> Any:
    """Return a search without a limit."""
    found = table.search(query, vector_column_name="vector").distance_type("cosine")
    return found.select(["id", "_distance"])


def measure(table: Any, kind: str, queries: Floats, nearest: list[dict[int, float]]) -> None:
    """Build an index of one kind, and search it."""
    hits = len(nearest[0]) // 2
    partitions = max(1, table.count_rows() // ROWS_PER_PARTITION)
    config = KINDS[kind](
        distance_type="cosine", num_partitions=partitions, sample_rate=SAMPLED_ROWS
    )
    began, cpu = time.perf_counter(), count_cpu()
    table.create_index("vector", config=config, replace=True)
    print(f"{kind}, {partitions} partitions: {time.perf_counter() - began:.1f} s,"
          f" {count_cpu() - cpu:.1f} s CPU", flush=True)  # fmt: skip
    for probes, refine in DEPTHS:
        shares, seconds = [], []
        for query, best in zip(queries, nearest, strict=True):
            asked = search(table, query).nprobes(probes).limit(CANDIDATES)
            began = time.perf_counter()
            rows = (asked.refine_factor(refine) if refine else asked).to_list()[:hits]
            seconds.append(time.perf_counter() - began)
            worst = sorted(best.values())[hits - 1] + 1e-6
            shares.append(sum(best.get(row["id"], 2.0) <= worst for row in rows) / hits)
        print(
            f"  {probes} partitions, {refine or 'no'} exact vectors a hit: recall@{hits}"
            f" {np.mean(shares):.3f}, p50 {1000 * np.median(seconds):.0f} ms",
            flush=True,
        )


def count_cpu() -> float:
    """Return the CPU seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
