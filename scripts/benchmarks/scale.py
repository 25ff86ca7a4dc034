"""A generated tree of 100,000 files and 1,000,000 chunks: ``scale.py [--files N] [--chunks N]``.

A real kernel process indexes it with the static model and is asked how far it is. Measured: whether
the speed stays the same, memory, queries at full size, and what a restart with nothing changed
costs. ``--files 2000`` is a trial of a minute or two.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import scale_progress
import scale_tree
from index_disk import VECTOR_BYTES, wait_until_settled
from kernel_talk import KernelTalk, Message, index_folder
from live_saves import Done
from rival_tables import percentile
from verdicts import verdict

WINDOW = 1
CHUNKS_PER_FILE = 10
MEMORY_TARGET_MB = 1500.0
QUERIES = 200
QUERY_TARGET_MS = 60.0
RESCAN_TARGET_SECONDS = 5.0
VERSIONS_TARGET = 10
DISK_TARGET = 1.5  # of source + vectors
# Counting a million rows takes a moment, and the question must not be the load.
LOOK_SECONDS = 0.1
RULES = ".codekernelignore"


def main() -> int:
    """Print the figures; 0 if all targets are met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--chunks", type=int, help="ten times the files, if not said")
    parser.add_argument("--every", type=float, default=10.0, help="seconds between two lines")
    options = parser.parse_args()
    wanted = options.chunks or options.files * CHUNKS_PER_FILE
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        repo = root / "generated"
        started = time.perf_counter()
        source = scale_tree.generate(repo, options.files, wanted)
        took = time.perf_counter() - started
        print(f"scale: {options.files} files, {source / 1e6:.0f} MB, made in {took:.0f} s\n")
        with KernelTalk(root) as talk:
            met = _first_life(talk, root, repo, source, options.every)
        with KernelTalk(root) as talk:
            met += _second_life(talk, repo)
    return 0 if all(met) else 1


def _first_life(talk: KernelTalk, root: Path, repo: Path, source: int, every: float) -> list[bool]:
    """Index everything, then ask."""
    talk.register(repo, WINDOW)
    samples = scale_progress.watch_progress(talk, WINDOW, every)
    met = scale_progress.flatness(samples)
    met.append(_queries(talk, "right after indexing"))
    disk = wait_until_settled(index_folder(root))
    own, anonymous = scale_progress.memory(talk.child.process.pid)  # tidying included
    peak = max(own, *(sample.resident_mb for sample in samples))
    print(f"  the kernel's own peak {own:.0f} MB; now {anonymous:.0f} MB are no mapped files")
    met.append(verdict("peak RSS, with children", peak, MEMORY_TARGET_MB, " MB"))
    print(f"  disk: {disk.sentence()}")
    allowed = source + samples[-1].vectors * VECTOR_BYTES
    met.append(verdict("disk / (source + vectors)", disk.total / allowed, DISK_TARGET, "x"))
    met.append(verdict("LanceDB versions after idle", disk.versions, VERSIONS_TARGET))
    met.append(_queries(talk, "after tidying"))
    return met


def _second_life(talk: KernelTalk, repo: Path) -> list[bool]:
    """Restart with nothing changed, then one more comparison of every file."""
    done = Done(talk)
    started = time.perf_counter()
    talk.open(repo, WINDOW)
    swept = None
    while (state := talk.status(WINDOW)["state"]) != "idle":
        if swept is None and state == "embedding":
            swept = time.perf_counter() - started
        time.sleep(LOOK_SECONDS)
    idle = time.perf_counter() - started
    print(f"\nrestart: ready after {talk.ready_seconds:.3f} s")
    print(f"  vectors are there, and all is idle, {idle:.2f} s after openRepo")
    rescan = swept or idle
    met = [verdict("no-op rescan, after openRepo", rescan, RESCAN_TARGET_SECONDS, " s")]
    (repo / RULES).write_text("# nothing is left out\n", encoding="utf-8")
    closed = time.perf_counter()
    sweep = done.after(RULES, closed) - closed
    met.append(verdict("no-op sweep of an open repository", sweep, RESCAN_TARGET_SECONDS, " s"))
    met.append(_queries(talk, "after a restart"))
    return met


def _queries(talk: KernelTalk, when: str) -> bool:
    times: list[float] = []
    hits: list[Message] = []
    for query in scale_tree.queries(QUERIES):
        started = time.perf_counter()
        hits += talk.search(query, WINDOW)
        times.append((time.perf_counter() - started) * 1e3)
    p50, p95, most = (percentile(times, share) for share in (0.5, 0.95, 1.0))
    print(
        f"  {QUERIES} queries {when}: p50 {p50:.1f} ms, p95 {p95:.1f} ms, slowest {most:.1f} ms, "
        f"{len(hits)} hits"
    )
    return verdict(f"query p95, {when}", p95, QUERY_TARGET_MS, " ms")


if __name__ == "__main__":
    sys.exit(main())
