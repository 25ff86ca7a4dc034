"""What the rivals need for the same repositories: ``rivals.py --repos DIR [--only NAME ...]``.

Every rival runs in a long-lived process of its own, in an environment made below ``.bench-cache``
when first needed. Start (import, model), index, first and repeated queries are measured apart,
inside that process. A rival that cannot be installed is one line, and the rest goes on.
Other benchmarks import ``open_rivals``, ``time_queries`` and the makers to run rivals beside the
kernel.
Repositories are laid out by ``checkout.py`` of the retrieval benchmark (``--bench``).
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import rival_tables
from rival_chunkhound import Chunkhound
from rival_lance import LanceAlone
from rival_process import RivalFailed
from rival_semble import Semble
from rival_tables import Figures, Lap
from rival_venv import ROOT
from rival_walk import GitFiles, RipgrepFiles

HITS = 10
LAPS = 3  # the first is the first use of a query, the median of all is the warm time
LANCE_QUERIES = 50

Searching = Semble | Chunkhound
SEARCHING: dict[str, Callable[[], Searching]] = {
    "semble": Semble,
    "semble-all": lambda: Semble(everything=True),
    "chunkhound": Chunkhound,
}
WALKING: dict[str, Callable[[], RipgrepFiles | GitFiles]] = {"rg": RipgrepFiles, "git": GitFiles}
LANCE: dict[str, Callable[[], LanceAlone]] = {"lance": LanceAlone}
# chunkhound installs 1.9 GB: only when asked for.
USUAL = ("semble", "semble-all", "rg", "git", "lance")

Rival = TypeVar("Rival", bound=Semble | Chunkhound | RipgrepFiles | GitFiles | LanceAlone)


def main() -> int:
    """Print Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", type=Path, default=ROOT.parent / "shared" / "bench")
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[], help="names of repositories")
    parser.add_argument(
        "--rivals", nargs="*", default=USUAL, choices=[*SEARCHING, *WALKING, *LANCE]
    )
    options = parser.parse_args()
    roots = repositories(options.bench, options.repos, options.only)
    if not roots:
        sys.exit(f"There is no repository of {options.bench / 'repos.json'} in {options.repos}.")
    chunks = _search_tables(options, roots)
    _walk_table(options, roots)
    _lance_table(options, chunks)
    return 0


def repositories(bench: Path, repos: Path, only: Iterable[str] = ()) -> dict[str, Path]:
    """The folder to index of every repository that is there."""
    rows = json.loads((bench / "repos.json").read_bytes())
    roots = {row["name"]: repos / row["name"] / row["root"] for row in rows}
    wanted = set(only) or set(roots)
    return {name: root for name, root in roots.items() if name in wanted and root.is_dir()}


def queries(bench: Path, name: str) -> list[str]:
    """The benchmark's English questions about a repository."""
    rows = json.loads((bench / "queries" / f"{name}.json").read_bytes())
    return [row["query"] for row in rows]


def open_rivals(makers: Mapping[str, Callable[[], Rival]], wanted: Iterable[str]) -> list[Rival]:
    """The wanted rivals that run here; one line for each that does not."""
    found = []
    for rival in [makers[name]() for name in wanted if name in makers]:
        reason = rival.available()
        if reason is None:
            found.append(rival)
        else:
            print(f"{rival.name}: left out, {reason}\n", flush=True)
    return found


def time_queries(rival: Searching, texts: Iterable[str]) -> list[Lap]:
    """Ask every query several times in a row."""
    return [_lap([rival.search(text, HITS) for _ in range(LAPS)]) for text in texts]


def _lap(replies: list[Figures]) -> Lap:
    times = [reply["milliseconds"] for reply in replies]
    cpu = statistics.median(reply["cpu_milliseconds"] for reply in replies)
    return times[0], statistics.median(times), cpu


def _search_tables(options: argparse.Namespace, roots: dict[str, Path]) -> int:
    """Index and query times; returns the largest number of chunks that a rival made of all."""
    rivals = open_rivals(SEARCHING, options.rivals)
    rows: dict[str, list[Figures]] = {rival.name: [] for rival in rivals}
    laps: dict[str, list[Lap]] = {rival.name: [] for rival in rivals}
    if not rivals:
        return 0
    print(rival_tables.INDEX_HEAD)
    for name, root in roots.items():
        for rival in rivals:
            try:
                took = rival.index(root)
                laps[rival.name] += time_queries(rival, queries(options.bench, name))
            except RivalFailed as failure:
                print(f"{rival.name} failed on {name}: {failure}", file=sys.stderr, flush=True)
                continue
            rows[rival.name].append(took)
            print(rival_tables.index_row(name, rival.name, took), flush=True)
    for rival in rivals:
        print(rival_tables.index_total(rival.name, rows[rival.name]))
    print(f"\n{rival_tables.LATENCY_HEAD}")
    for rival in rivals:
        if laps[rival.name]:
            print(rival_tables.latency_row(rival.name, rival.ready(), laps[rival.name]))
        rival.close()
    print(flush=True)
    return max(sum(int(row["chunks"]) for row in found) for found in rows.values())


def _walk_table(options: argparse.Namespace, roots: dict[str, Path]) -> None:
    walkers = open_rivals(WALKING, options.rivals)
    if walkers:
        print(rival_tables.WALK_HEAD)
    for walker in walkers:
        took = [walker.index(root) for root in roots.values()]
        print(rival_tables.walk_row(walker.name, took))
    print(flush=True)


def _lance_table(options: argparse.Namespace, rows: int) -> None:
    for lance in open_rivals(LANCE, options.rivals if rows else ()):
        took = lance.index(rows)
        replies = [lance.search(n % rows, HITS) for n in range(LANCE_QUERIES)]
        print(rival_tables.LANCE_HEAD)
        print(rival_tables.lance_row(lance.name, lance.ready(), took, replies), flush=True)
        lance.close()


if __name__ == "__main__":
    sys.exit(main())
