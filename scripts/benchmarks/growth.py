"""How time, memory and disk grow with a repository: ``growth.py [--chunks N ...] [--plot FILE]``.

Generated trees with ten chunks a file, each indexed by a kernel process of its own with the static
model, asked, closed and opened again by another process. Prints a table; ``--plot`` draws it.
``--keep DIR`` leaves trees and indexes in a folder, with what indexing took: what is there already
is only opened and asked.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
import scale_tree
from growth_plot import draw_growth
from index_disk import look, wait_until_settled
from kernel_talk import KernelTalk, index_folder
from rival_tables import percentile

WINDOW = 1
CHUNKS_PER_FILE = 10
SIZES = (10_000, 100_000, 1_000_000)
QUERIES = 200
LOOK_SECONDS = 0.1
INDEXING_FILE = "indexing.json"
CLOSED_SECONDS = 2.0  # after which memory of a closed repository must have been given back
HEAD = (
    "| chunks | source MB | index s | CPU us a chunk | disk MB | peak MB | idle MB | closed MB "
    "| p50 ms | p95 ms | CPU ms a query | open s | open CPU s |\n" + "|---" * 13 + "|"
)


@dataclass(frozen=True)
class Growth:
    """What one size takes; memory in MB, that of the chunk processes included in the peak."""

    chunks: int
    source_mb: float
    index_seconds: float
    cpu_us: float
    disk_mb: float
    peak_mb: float
    idle_mb: float
    closed_mb: float
    p50_ms: float
    p95_ms: float
    cpu_ms: float
    open_seconds: float
    open_cpu: float

    def row(self) -> str:
        """For the table."""
        return (
            f"| {self.chunks:,} | {self.source_mb:.0f} | {self.index_seconds:.0f} "
            f"| {self.cpu_us:.0f} | {self.disk_mb:.0f} | {self.peak_mb:.0f} "
            f"| {self.idle_mb:.0f} | {self.closed_mb:.0f} "
            f"| {self.p50_ms:.1f} | {self.p95_ms:.1f} | {self.cpu_ms:.1f} "
            f"| {self.open_seconds:.2f} | {self.open_cpu:.2f} |"
        )


def main() -> int:
    """Print the table; the targets are scale.py's."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, nargs="*", default=SIZES)
    parser.add_argument("--plot", type=Path, help="an SVG file")
    parser.add_argument("--keep", type=Path, help="a folder for trees and indexes")
    options = parser.parse_args()
    rows = []
    print(HEAD, flush=True)
    for chunks in options.chunks:
        with tempfile.TemporaryDirectory() as name:
            root = options.keep / str(chunks) if options.keep else Path(name)
            rows.append(_measure(root, chunks))
            print(rows[-1].row(), flush=True)
    if options.plot:
        options.plot.write_text(draw_growth(rows), encoding="utf-8")
    return 0


@dataclass(frozen=True)
class Indexing:
    """What the first index took."""

    seconds: float
    cpu_us: float
    peak_mb: float


def _measure(root: Path, chunks: int) -> Growth:
    repo = root / "generated"
    indexing = _read_indexing(root) or _index(root, repo, chunks)
    source = sum(file.stat().st_size for file in repo.rglob("*") if file.is_file())
    disk = look(index_folder(root))
    with KernelTalk(root) as talk:
        process = psutil.Process(talk.child.process.pid)
        before, started = _cpu_seconds(process), time.perf_counter()
        talk.open(repo, WINDOW)
        talk.wait_for_idle(WINDOW, LOOK_SECONDS)
        opened, open_cpu = time.perf_counter() - started, _cpu_seconds(process) - before
        times, cpu = _ask(talk, process, scale_tree.queries(QUERIES))
        idle = _resident_mb(process)
        talk.close(WINDOW)
        time.sleep(CLOSED_SECONDS)
        closed = _resident_mb(process)
    return Growth(
        chunks=chunks,
        source_mb=source / 1e6,
        index_seconds=indexing.seconds,
        cpu_us=indexing.cpu_us,
        disk_mb=disk.total / 1e6,
        peak_mb=indexing.peak_mb,
        idle_mb=idle,
        closed_mb=closed,
        p50_ms=percentile(times, 0.5),
        p95_ms=percentile(times, 0.95),
        cpu_ms=cpu,
        open_seconds=opened,
        open_cpu=open_cpu,
    )


def _index(root: Path, repo: Path, chunks: int) -> Indexing:
    """Generate a tree and index it, until it is tidied up."""
    scale_tree.generate(repo, chunks // CHUNKS_PER_FILE, chunks)
    with KernelTalk(root) as talk:
        process = psutil.Process(talk.child.process.pid)
        before, started = _cpu_seconds(process), time.perf_counter()
        talk.register(repo, WINDOW)
        peak = _wait_until_idle(talk, process)
        seconds = time.perf_counter() - started
        used = _cpu_seconds(process) - before
        wait_until_settled(index_folder(root))
    indexing = Indexing(seconds, used * 1e6 / chunks, peak)
    (root / INDEXING_FILE).write_text(json.dumps(asdict(indexing)), encoding="utf-8")
    return indexing


def _read_indexing(root: Path) -> Indexing | None:
    """Return what indexing took when it was kept; None if there is no complete index."""
    kept = root / INDEXING_FILE
    return Indexing(**json.loads(kept.read_bytes())) if kept.exists() else None


def _wait_until_idle(talk: KernelTalk, process: psutil.Process) -> float:
    """Return the largest memory that was seen."""
    peak = 0.0
    while talk.status(WINDOW)["state"] != "idle":
        peak = max(peak, _resident_mb(process))
        time.sleep(LOOK_SECONDS)
    return peak


def _ask(
    talk: KernelTalk, process: psutil.Process, queries: Sequence[str]
) -> tuple[list[float], float]:
    """Return milliseconds of each second use of a query, and processor time of an average one."""
    for query in queries:
        talk.search(query, WINDOW)
    times, before = [], _cpu_seconds(process)
    for query in queries:
        started = time.perf_counter()
        talk.search(query, WINDOW)
        times.append((time.perf_counter() - started) * 1e3)
    return times, (_cpu_seconds(process) - before) * 1e3 / len(queries)


def _cpu_seconds(process: psutil.Process) -> float:
    """Of a process, its children, and those that have ended."""
    own = process.cpu_times()
    seconds = own.user + own.system + own.children_user + own.children_system
    for child in process.children(recursive=True):
        try:
            used = child.cpu_times()
        except psutil.NoSuchProcess:
            continue
        seconds += used.user + used.system
    return float(seconds)


def _resident_mb(process: psutil.Process) -> float:
    """Of a process and its children."""
    total = process.memory_info().rss
    for child in process.children(recursive=True):
        try:
            total += child.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return float(total / 1e6)


if __name__ == "__main__":
    sys.exit(main())
