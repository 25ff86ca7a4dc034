"""What a search among many vectors costs without anything around it: ``vector_scan.py [--rows N]``.

Random rows of the static model's dimensions, in memory as the kernel has them. ``--rows`` ascend,
and each size has the rows of the one before. Processor time and page faults of the searching
thread, which a busy machine changes less than the clock.
"""

import argparse
import sys
import time

import numpy as np
from codekernel.storage.vectors.in_memory_vectors import InMemoryVectors
from index_disk import DIMENSIONS
from rival_tables import percentile

if sys.platform == "win32":
    sys.exit("Page faults are counted by getrusage, which Windows has not.")
import resource

ROWS = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
PIECE = 50_000
SEARCHES = 50
CANDIDATES = 100
SEED = 6


def main() -> int:
    """Print a row for each size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=ROWS)
    print("| rows | kind | MB | p50 ms | p95 ms | p50 CPU ms | p95 CPU ms | page faults |")
    print("|---" * 8 + "|")
    chosen, vectors = np.random.default_rng(SEED), InMemoryVectors(DIMENSIONS)
    for rows in parser.parse_args().rows:
        for first in range(len(vectors), rows, PIECE):
            keys = np.arange(first, min(first + PIECE, rows))
            vectors.append(keys, chosen.standard_normal((len(keys), DIMENSIONS), np.float32))
        print(_measure(vectors, chosen), flush=True)
    return 0


def _measure(vectors: InMemoryVectors, chosen: np.random.Generator) -> str:
    megabytes = sum(column.nbytes for block in vectors.rows.blocks for column in block) / 1e6
    seconds, used = [], []
    for query in chosen.standard_normal((SEARCHES, DIMENSIONS), np.float32):
        started, before = time.perf_counter(), time.thread_time()
        vectors.find_nearest(query, CANDIDATES)
        used.append((time.thread_time() - before) * 1e3)
        seconds.append((time.perf_counter() - started) * 1e3)
    faults = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    vectors.find_nearest(query, CANDIDATES)
    faults = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - faults
    figures = [percentile(times, share) for times in (seconds, used) for share in (0.5, 0.95)]
    kind = "float32" if vectors.is_exact else "five bits"
    shown = " | ".join(f"{it:.1f}" for it in figures)
    return f"| {len(vectors):,} | {kind} | {megabytes:.0f} | {shown} | {faults} |"


if __name__ == "__main__":
    sys.exit(main())
