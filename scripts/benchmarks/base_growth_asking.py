"""What a base of a given size answers: ``base_growth_asking.py ENDPOINT LABEL KIND``.

As a module: recall, and whole searches of one repository and of all. As a program: a process that
opens the base for the first time and asks, with what the open repository of a kernel loads before
(``prewarmed``) or without (``cold``); prints JSON.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from statistics import fmean, median

import numpy as np
import psutil
import scale_tree
from build_steps import print_load
from clients_place import ROOT  # noqa: F401 - where the kernel is found
from codekernel.base.base_place import BasePlace
from codekernel.base.base_reader import BaseRepositoryReader, Deadline, open_base
from codekernel.base.base_session import BaseSession
from codekernel.base.whole_base import WholeBase, WholeBaseSearcher
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import Performance
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.inference.model_pool import ModelPool
from codekernel.search.filters import Filters
from codekernel.search.pipeline import Searcher
from codekernel.storage.base.base_table import BaseTable
from codekernel.storage.lexical_index import stem_terms
from support.slow_proxy import SlowProxy
from team_base import MODEL, make_place, measure_share, overlay, plan_default
from verdicts import verdict, verdict_at_least

HITS, CANDIDATES, MEASURED, RECALLED, STARTS = 10, 500, 100, 30, 3
PATIENCE_SECONDS = 120.0
# As object stores answer inside of a region.
DELAY_SECONDS = 0.03
MAX_COLD_SECONDS, MAX_WARM_SECONDS, MIN_RECALL = 2.5, 0.25, 0.95
KINDS = ("cold", "prewarmed")


def ask_base(place: BasePlace, endpoint: str, root: Path) -> bool:
    """Print the figures; true if the targets are met."""
    met = measure_starts("loopback", endpoint, root.name)
    with SlowProxy(endpoint, DELAY_SECONDS) as proxy:
        measure_starts(f"{1000 * DELAY_SECONDS:.0f} ms a request", proxy.endpoint, root.name, proxy)
    met &= measure_searches(place, root)
    met &= measure_recall(place, root.name)
    print_load()
    return met


def measure_starts(way: str, endpoint: str, label: str, proxy: SlowProxy | None = None) -> bool:
    """Print what processes need that open the base for the first time."""
    met = True
    for kind in KINDS:
        rows, traffic = [], []
        for _ in range(STARTS):
            before = (proxy.requests, proxy.response_bytes) if proxy else (0, 0)
            command = [sys.executable, __file__, endpoint, label, kind]
            child = subprocess.run(command, capture_output=True, text=True, check=False)
            if child.returncode:
                raise SystemExit(child.stderr)
            rows.append(json.loads(child.stdout))
            if proxy:
                traffic.append((proxy.requests - before[0], proxy.response_bytes - before[1]))
        said = {name: median(row[name] for row in rows) for name in rows[0]}
        print(f"{way}, {kind}: " + ", ".join(f"{name} {it:.2f}" for name, it in said.items()))
        if traffic:
            requests, size = map(fmean, zip(*traffic, strict=True))
            print(f"  {requests:.0f} requests, {size / 1e6:.1f} MB in all", flush=True)
        if not proxy:
            seconds = said["opened s"] + said["first answer s"]
            met &= verdict(
                f"{kind} first answer, opening included", seconds, MAX_COLD_SECONDS, " s"
            )
    return met


def measure_searches(place: BasePlace, root: Path) -> bool:
    """Ask one open repository over the base, and the whole base, by the pipeline of the kernel."""
    pool, base, met = ModelPool(), open_base(place), True
    session = BaseSession(root, lambda it: overlay(base, it))
    queries = scale_tree.queries(2 * MEASURED)
    with tempfile.TemporaryDirectory() as folder:
        index = RepositoryIndex(root, Path(folder), lambda: pool, elsewhere=session)
        with closing(index):
            index.start(plan_default())
            while not index.is_idle:
                time.sleep(0.05)
            searcher, times = Searcher(root, index), []
            cpu = time.process_time()
            for query in queries:
                began = time.perf_counter()
                covered = session.cover(searcher, index)
                covered.run_search(query, HITS, CancelToken(), accuracy=False)
                times.append(time.perf_counter() - began)
            print(f"{1000 * (time.process_time() - cpu) / len(queries):.0f} ms of CPU each")
    met &= print_times("whole search of one open repository", times[:MEASURED], times[MEASURED:])
    with pool.acquire_embedder(MODEL, Performance()) as embedder:
        times = []
        for query in queries:
            began = time.perf_counter()
            whole = WholeBase(base, embedder, Filters())
            search = WholeBaseSearcher(Path(), whole, describe_gap=whole.describe_gap)
            search.run_search(query, HITS, CancelToken(), accuracy=False)
            times.append(time.perf_counter() - began)
    return print_times("whole search of all repositories", times[:MEASURED], times[MEASURED:]) & met


def print_times(what: str, first: Sequence[float], then: Sequence[float]) -> bool:
    """Print the times of the first questions and of as many others after them."""
    for when, times in (("first", first), ("next", then)):
        p50, p95 = (1000 * float(np.percentile(times, it)) for it in (50, 95))
        print(f"{what}, {when} {len(times)}: p50 {p50:.0f} ms, p95 {p95:.0f} ms")
    print_load()
    return verdict(f"p95 of a {what}", float(np.percentile(then, 95)), MAX_WARM_SECONDS, " s")


def measure_recall(place: BasePlace, label: str) -> bool:
    """Print how many of the nearest chunks a search finds."""
    table, met = BaseTable(place.table), True
    with ModelPool().acquire_embedder(MODEL, Performance()) as embedder:
        vectors = [embedder.embed_query(query) for query in scale_tree.queries(RECALLED)]
    for repos, of in (((), "all"), ((label,), "one repository")):
        shares = [measure_share(table, vector, repos) for vector in vectors]
        met &= verdict_at_least(f"recall@10 of {of} against exact", fmean(shares), MIN_RECALL)
    return met


def start(endpoint: str, label: str, kind: str) -> dict[str, float]:
    """Open the base as a new process, and ask."""
    with ModelPool().acquire_embedder(MODEL, Performance()) as embedder:
        query = scale_tree.queries(3)[2]  # a sentence
        vector = embedder.embed_query(query)
    imports, imported = time.time() - psutil.Process().create_time(), time.perf_counter()
    base = open_base(make_place(endpoint))
    (repository,) = (it for it in base.manifest.repositories if it.label == label)
    reader = BaseRepositoryReader(base, repository)
    opened, memory = time.perf_counter(), read_memory()
    if kind == "prewarmed":
        base.table.prewarm()
    warm, after = time.perf_counter(), read_memory()
    stems, deadline = stem_terms(query.split()), Deadline(PATIENCE_SECONDS)
    with ThreadPoolExecutor(2) as threads:  # as a search asks both
        words = threads.submit(reader.search_terms, stems, CANDIDATES, deadline)
        near = threads.submit(reader.search_vectors, vector, CANDIDATES, deadline)
        if not (words.result() and near.result()):
            raise SystemExit("nothing was found")
    return {
        "imports and model s": imports,
        "opened s": opened - imported,
        "prewarming s": warm - opened,
        "prewarming MB": (after - memory) / 1e6,
        "first answer s": time.perf_counter() - warm,
        "CPU s": sum(resource.getrusage(resource.RUSAGE_SELF)[:2]),
    }


def read_memory() -> float:
    """Return the resident bytes of this process."""
    return float(Path("/proc/self/statm").read_text("ascii").split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    print(json.dumps(start(*sys.argv[1:])))
