"""One query to several repositories: ``federation.py --repos DIR [--only NAME ...]``.

The queries of the retrieval benchmark, in English and Chinese, asked of all repositories together:
how often a right file of the repository that the query was written for is among the first ten, and
NDCG@10, beside each repository alone, ranks in turn and scores as they are. Other repositories may
answer as well, so the figures are lower bounds. Then the time: all together beside the slowest one
alone, query by query, in one process with warm indexes, and as commands beside a running kernel.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean, median

from codekernel.domain.concurrency import CancelToken
from codekernel.search.federation import FederatedQuery, RepositoryHit, search_repositories
from codekernel.search.pipeline import Searcher
from kernel_searchers import Static
from rival_venv import ROOT
from verdicts import verdict, verdict_at_least

HITS = 10
# Small enough to be indexed in seconds, of seven languages.
NAMES = [
    "requests",
    "cobra",
    "gin",
    "axios",
    "aiohttp",
    "gson",
    "rack",
    "guzzle",
    "axum",
    "monolog",
]
MAX_RATIO, MIN_FOUND = 1.5, 0.95
# The fastest counts: what else runs on the machine does not belong to either.
LAPS = 3
COMMAND_QUERIES = 5

Place = tuple[str, str]
Query = tuple[str, str, list[str]]


def main() -> int:
    """Print the figures; 0 if the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", type=Path, default=ROOT.parent / "shared" / "bench")
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=NAMES)
    options = parser.parse_args()
    model = Static()
    rows = {row["name"]: row for row in json.loads((options.bench / "repos.json").read_bytes())}
    handles = {
        name: model.index(options.repos / name / rows[name]["root"]) for name in options.only
    }
    try:
        searchers = {name: handle[1] for name, handle in handles.items()}
        queries = [query for name in searchers for query in read_queries(options.bench, name)]
        met = [measure_quality(searchers, queries)]
        measure_time(searchers, queries)
    finally:
        for handle in handles.values():
            model.close(handle)
    roots = [options.repos / name / rows[name]["root"] for name in options.only]
    met.append(measure_commands(roots, [text for _, text, _ in queries]))
    return 0 if all(met) else 1


def read_queries(bench: Path, name: str) -> list[Query]:
    """Return the queries of a repository with their files."""
    found: list[Query] = []
    for row in json.loads((bench / "queries" / f"{name}.json").read_bytes()):
        targets = [
            each if isinstance(each, str) else each["path"]
            for each in row["relevant"] + row["secondary"]
        ]
        found += [(name, text, targets) for key in ("query", "zh") if (text := row.get(key))]
    return found


def search_all(searchers: dict[str, Searcher], text: str) -> Sequence[RepositoryHit]:
    """Return the hits of all repositories together."""
    opened = {name: partial(_open, each) for name, each in searchers.items()}
    return search_repositories(opened, FederatedQuery(text, HITS), CancelToken()).hits


def _open(searcher: Searcher) -> tuple[Searcher, str]:
    return searcher, ""


def measure_quality(searchers: dict[str, Searcher], queries: Sequence[Query]) -> bool:
    """Print how well files are found; return whether the target is met."""
    ways: dict[str, Callable[[Query], list[Place]]] = {
        "each repository alone": lambda query: [
            (query[0], hit.chunk.path) for hit in searchers[query[0]].search(query[1], HITS)
        ],
        "ranks in turn": lambda query: _take_in_turn(searchers, query[1]),
        "scores as they are": lambda query: _sort_raw(searchers, query[1]),
        "fused": lambda query: [
            (name, hit.chunk.path) for name, hit in search_all(searchers, query[1])
        ],
    }
    print(f"{len(searchers)} repositories, {len(queries)} queries")
    print("| way | among 10 | among 3 | NDCG@10 |\n| --- | --- | --- | --- |")
    found = 0.0
    for way, search in ways.items():
        ranks = [_rank(search(query), query) for query in queries]
        found = fmean(any(each) for each, _ in ranks)
        first = fmean(any(rank <= 3 for rank in each) for each, _ in ranks)  # noqa: PLR2004
        gain = fmean(value for _, value in ranks)
        print(f"| {way} | {found:.3f} | {first:.3f} | {gain:.3f} |")
    return verdict_at_least("right file among the first ten, fused", found, MIN_FOUND)


def _rank(places: Sequence[Place], query: Query) -> tuple[list[int], float]:
    """Return the ranks of the right files, and NDCG."""
    name, _, targets = query
    files = list(dict.fromkeys(places))
    ranks = [
        place
        for place, (repo, path) in enumerate(files, 1)
        if repo == name and _is_any(path, targets)
    ]
    best = sum(1 / math.log2(place + 2) for place in range(min(HITS, len(targets))))
    return ranks, sum(1 / math.log2(rank + 1) for rank in ranks) / best


def _is_any(path: str, targets: Sequence[str]) -> bool:
    return any(
        path == each or path.endswith(f"/{each}") or each.endswith(f"/{path}") for each in targets
    )


def _take_in_turn(searchers: dict[str, Searcher], text: str) -> list[Place]:
    found = {name: each.search(text, HITS) for name, each in searchers.items()}
    return [
        (name, hits[place].chunk.path)
        for place in range(HITS)
        for name, hits in found.items()
        if place < len(hits)
    ][:HITS]


def _sort_raw(searchers: dict[str, Searcher], text: str) -> list[Place]:
    found = [
        (-hit.score, name, hit.chunk.path)
        for name, each in searchers.items()
        for hit in each.search(text, HITS)
    ]
    return [(name, path) for _, name, path in sorted(found)[:HITS]]


def measure_time(searchers: dict[str, Searcher], queries: Sequence[Query]) -> None:
    """Print how long queries take in this process."""
    together: list[float] = []
    slowest: list[float] = []
    sums: list[float] = []
    for _, text, _ in queries[::8]:
        alone = [_time_best(partial(each.search, text, HITS)) for each in searchers.values()]
        together.append(_time_best(partial(search_all, searchers, text)))
        slowest.append(max(alone))
        sums.append(sum(alone))
    print(f"all together {1000 * median(together):.1f} ms")
    print(
        f"slowest alone {1000 * median(slowest):.1f} ms, all in turn {1000 * median(sums):.1f} ms"
    )
    ratios = [one / other for one, other in zip(together, slowest, strict=True)]
    print(f"in one process, all together / slowest alone: {median(ratios):.2f}")


def measure_commands(roots: Sequence[Path], texts: Sequence[str]) -> bool:
    """Print how long the command takes beside a running kernel; return if the target is met."""
    with tempfile.TemporaryDirectory(prefix="codekernel-federation-") as user_data:
        environ = {**os.environ, "CODEKERNEL_USER_DATA": user_data}
        environ.pop("CODEKERNEL_STANDALONE", None)
        environ["PYTHONPATH"] = str(ROOT / "kernel")

        def run(*words: str) -> None:
            command = [sys.executable, "-m", "codekernel", *words]
            subprocess.run(command, env=environ, stdout=subprocess.DEVNULL, check=False)

        every = [word for root in roots for word in ("--repo", str(root))]
        try:
            run("search", "--wait", *every, "warm up")
            asked = texts[:: max(1, len(texts) // COMMAND_QUERIES)][:COMMAND_QUERIES]
            alone = [
                [_time(partial(run, "search", "--repo", str(root), text)) for text in asked]
                for root in roots
            ]
            together = [_time(partial(run, "search", *every, text)) for text in asked]
            known = [_time(partial(run, "search", "-a", text)) for text in asked]
        finally:
            run("stop")
    slowest = max(map(median, alone))
    print(f"command, the slowest one: {1000 * slowest:.0f} ms; ten by --repo:", end=" ")
    print(f"{1000 * median(together):.0f} ms; all known: {1000 * median(known):.0f} ms")
    ratio = round(median(known) / slowest, 2)
    return verdict("command, all known / slowest alone, median", ratio, MAX_RATIO)


def _time_best(work: Callable[[], object]) -> float:
    return min(_time(work) for _ in range(LAPS))


def _time(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
