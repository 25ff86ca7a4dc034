"""What a search among many vectors costs without anything around it: ``vector_scan.py [--rows N]``.

Random rows of the static model's dimensions, in memory as the kernel has them. Processor time and
page faults of the searching thread, which a busy machine changes less than the clock.
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

ROWS = (100_000, 300_000, 1_000_000)
PIECE = 50_000
SEARCHES = 50
CANDIDATES = 100
SEED = 6


def main() -> int:
    """Print a row for each size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=ROWS)
    print("| rows | kind | p50 ms | p95 ms | p50 CPU ms | p95 CPU ms | page faults |")
    print("|---" * 7 + "|")
    for rows in parser.parse_args().rows:
        print(_measure(rows), flush=True)
    return 0


def _measure(rows: int) -> str:
    chosen = np.random.default_rng(SEED)
    vectors = InMemoryVectors(DIMENSIONS)
    for first in range(0, rows, PIECE):
        keys = np.arange(first, min(first + PIECE, rows))
        vectors.append(keys, chosen.standard_normal((len(keys), DIMENSIONS), np.float32))
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
    return f"| {rows:,} | {kind} | {' | '.join(f'{it:.1f}' for it in figures)} | {faults} |"


if __name__ == "__main__":
    sys.exit(main())
