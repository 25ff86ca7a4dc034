"""How long a question about calls takes at a million chunks, and what the calls cost."""

import random
import tempfile
import time
from pathlib import Path

import scale_tree
from callchain_index import Indexed, indexed
from callchain_tree import connect
from codekernel.domain.call_graph import CallChainQuery, CallDirection
from codekernel.domain.concurrency import CancelToken
from codekernel.storage.catalog.call_database import CALLS_FILE
from rival_tables import percentile
from verdicts import verdict

CHUNKS_PER_FILE = 10
QUESTIONS = 200
SAVES = 40
TARGET_MS = 50.0
SEED = 11
ENOUGH_SECONDS = 60.0


def speed(files: int) -> bool:
    """Print the figures; true if the target is met."""
    with tempfile.TemporaryDirectory() as name:
        repo = Path(name) / "generated"
        scale_tree.generate(repo, files, files * CHUNKS_PER_FILE)
        names = connect(repo, SEED)
        source = sum(path.stat().st_size for path in repo.rglob("*") if path.is_file())
        print(f"callchain: {files} files, {source / 1e6:.0f} MB, {len(names)} functions that call")
        with indexed(repo) as index:
            _costs(index, source)
            met = [_asked(index, names, depth) for depth in (1, 3)]
            met.append(_after_saves(index, repo, names))
    return all(met)


def _costs(index: Indexed, source: int) -> None:
    calls = index.store.folder / CALLS_FILE
    size = sum(path.stat().st_size for path in calls.parent.glob(f"{CALLS_FILE}*"))
    chunks = index.store.catalog.count_contents()[1]
    print(f"  {chunks} chunks; words and catalogue {index.index_seconds:.1f} s")
    print(f"  calls read in {index.fill_seconds:.1f} s, {size / 1e6:.0f} MB on disk, "
          f"{size / source:.2f} of the source")  # fmt: skip


def _asked(index: Indexed, names: list[str], depth: int) -> bool:
    """New questions, none of them asked before."""
    chance = random.Random(SEED + depth)  # noqa: S311 - the same draw each time
    chosen = chance.sample(names, min(QUESTIONS, len(names)))
    times, steps = [], 0
    for name in chosen:
        began = time.perf_counter()
        answer = index.graph.ask(
            CallChainQuery(name, CallDirection.BOTH, depth), CancelToken(), ENOUGH_SECONDS
        )
        times.append((time.perf_counter() - began) * 1e3)
        steps += sum(
            len(side.steps)
            for chain in answer.chains
            for side in (chain.callers, chain.callees)
            if side
        )
    return _told(f"depth {depth}", times, steps)


def _after_saves(index: Indexed, repo: Path, names: list[str]) -> bool:
    """Each question comes right after a file was saved and indexed."""
    chosen = random.Random(SEED).sample(names, SAVES)  # noqa: S311 - the same draw each time
    files = sorted(repo.rglob("*.py"))[:SAVES]
    times = []
    for name, file in zip(chosen, files, strict=False):
        with file.open("a") as end:
            end.write("\n\ndef fresh():\n    return 1\n")
        list(index.indexer.index_paths([file.relative_to(repo).as_posix()]))
        began = time.perf_counter()
        index.graph.ask(CallChainQuery(name), CancelToken(), ENOUGH_SECONDS)
        times.append((time.perf_counter() - began) * 1e3)
    return _told("right after a save, depth 1", times, len(times))


def _told(what: str, times: list[float], steps: int) -> bool:
    p50, p95, most = (percentile(times, share) for share in (0.5, 0.95, 1.0))
    print(f"  {len(times)} questions, {what}: p50 {p50:.1f} ms, p95 {p95:.1f} ms, slowest "
          f"{most:.1f} ms, {steps} steps")  # fmt: skip
    return verdict(f"call_chain p95, {what}", p95, TARGET_MS, " ms")
