"""How long a search takes: ``query.py --repos DIR [--only NAME ...]``.

The benchmark's queries, one after another, through the real pump of a kernel process, once the
index is idle; beside semble, asked for the same in its own process, in the same run. Then, on a
copy of one repository, how long searches take while a mass change is indexed.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import rivals
from codekernel.settings.local_models import build_default_embedding_configs
from kernel_talk import KernelTalk
from live_files import Words, editable, function
from live_saves import Done, Searches
from rival_process import RivalFailed
from rival_tables import percentile
from rival_venv import ROOT
from verdicts import verdict

LOOKING, SEARCHING = 1, 2  # the two windows
RATIO_TARGET, BUSY_TARGET = 1.0, 2.0
WARMING_SEARCHES = 20
CHANGED_FILES = 500
QUIET_SEARCHES = 300
SEED = 14


@dataclass
class Times:
    """Of one searcher over all queries, in milliseconds."""

    name: str
    first: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    cpu: float = 0.0

    def row(self) -> str:
        """For the table."""
        figures = [percentile(it, share) for it in (self.first, self.warm) for share in (0.5, 0.95)]
        figures.append(self.cpu / (len(self.warm) * rivals.LAPS))
        return f"| {self.name} | {len(self.warm)} | {' | '.join(f'{it:.2f}' for it in figures)} |"


def main() -> int:
    """Print the figures; 0 if all targets are met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", type=Path, default=ROOT.parent / "shared" / "bench")
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[], help="names of repositories")
    parser.add_argument("--changing", default="pydantic", help="the repository that is changed")
    options = parser.parse_args()
    roots = rivals.repositories(options.bench, options.repos, options.only)
    if not roots:
        sys.exit(f"There is no repository of {options.bench / 'repos.json'} in {options.repos}.")
    with tempfile.TemporaryDirectory() as name:
        length = build_default_embedding_configs()[0].max_chunk_chars
        with KernelTalk(Path(name), length) as talk:
            met = _side_by_side(talk, options.bench, roots)
            met += _while_indexing(talk, options, Path(name))
    return 0 if all(met) else 1


def _side_by_side(talk: KernelTalk, bench: Path, roots: dict[str, Path]) -> list[bool]:
    ours, through_pump = Times("codekernel, through the pump"), talk.child.process.pid
    inside, outside = Times("semble, inside its process"), Times("semble, asked over a pipe")
    semble = next(iter(rivals.open_rivals(rivals.SEARCHING, ["semble"])), None)
    for name, root in roots.items():
        queries = rivals.queries(bench, name)
        talk.register(root, SEARCHING)
        status = talk.wait_for_idle(SEARCHING)
        print(f"{name}: {status['files']} files, {status['chunks']} chunks", file=sys.stderr)
        _ask_ours(talk, queries, ours, through_pump)
        talk.close(SEARCHING)
        talk.remove(root)  # many folders are called src
        if semble:
            try:
                semble.index(root)
                _ask_semble(semble, queries, inside, outside)
            except RivalFailed as failure:
                print(f"semble failed on {name}: {failure}", file=sys.stderr, flush=True)
    print(f"query: {len(roots)} repositories, limit {rivals.HITS}\n")
    print("| searcher | queries | first p50 ms | p95 | warm p50 ms | p95 | cpu ms |")
    print("|---|---|---|---|---|---|---|")
    tables = [times for times in (ours, inside, outside) if times.warm]
    for times in tables:
        print(times.row())
    print(flush=True)
    if not semble or not inside.warm:
        return []
    semble.close()
    for share in (0.5, 0.95):
        ratio = percentile(ours.warm, share) / percentile(outside.warm, share)
        print(f"- warm p{share * 100:.0f} / semble's asked over a pipe: {ratio:.3g}x")
    return [
        verdict(
            f"warm p{share * 100:.0f} / semble's inside its process",
            percentile(ours.warm, share) / percentile(inside.warm, share),
            RATIO_TARGET,
            "x",
        )
        for share in (0.5, 0.95)
    ]


def _ask_ours(talk: KernelTalk, queries: Sequence[str], times: Times, process: int) -> None:
    for query in queries[:WARMING_SEARCHES]:
        talk.search(query, SEARCHING, rivals.HITS)
    before = _cpu_milliseconds(process)
    for query in queries:
        laps = [_time_search(talk, query) for _ in range(rivals.LAPS)]
        times.first.append(laps[0])
        times.warm.append(statistics.median(laps))
    times.cpu += _cpu_milliseconds(process) - before


def _time_search(talk: KernelTalk, query: str) -> float:
    started = time.perf_counter()
    talk.search(query, SEARCHING, rivals.HITS)
    return (time.perf_counter() - started) * 1e3


def _ask_semble(
    semble: rivals.Searching, queries: Sequence[str], inside: Times, outside: Times
) -> None:
    for query in queries[:WARMING_SEARCHES]:
        semble.search(query, rivals.HITS)
    for query in queries:
        laps, replies = [], []
        for _ in range(rivals.LAPS):
            started = time.perf_counter()
            replies.append(semble.search(query, rivals.HITS))
            laps.append((time.perf_counter() - started) * 1e3)
        cpu = sum(float(str(reply["cpu_milliseconds"])) for reply in replies)
        for times, took in (
            (inside, [float(str(reply["milliseconds"])) for reply in replies]),
            (outside, laps),
        ):
            times.first.append(took[0])
            times.warm.append(statistics.median(took))
            times.cpu += cpu


def _cpu_milliseconds(process: int) -> float:
    used = psutil.Process(process).cpu_times()
    return float(used.user + used.system) * 1e3


def _while_indexing(talk: KernelTalk, options: argparse.Namespace, folder: Path) -> list[bool]:
    """Rewrite many files at once, as a checkout of another branch does, and search meanwhile."""
    original = options.repos / options.changing
    if not original.is_dir():
        print(f"\n{options.changing} is not there: nothing was measured while indexing runs.")
        return []
    repo = folder / options.changing
    shutil.copytree(original, repo, symlinks=True)
    repo = repo.rename(folder / f"{options.changing}-changing")
    queries = rivals.queries(options.bench, options.changing)
    talk.register(repo, LOOKING, SEARCHING)
    talk.wait_for_idle(LOOKING)
    process = talk.child.process.pid
    before = _cpu_milliseconds(process)
    quiet = [_time_search(talk, query) for query in _again(queries, QUIET_SEARCHES)]
    cpu = (_cpu_milliseconds(process) - before) / len(quiet)
    busy = _searched_during_change(talk, repo, queries)
    print(f"\n{repo.name}: {len(quiet)} searches when quiet, {len(busy)} while indexing")
    for share in (0.5, 0.95):
        idle, meanwhile = percentile(quiet, share), percentile(busy, share)
        print(f"  p{share * 100:.0f}: {idle:.2f} ms quiet, {meanwhile:.2f} ms while indexing")
    print(f"  cpu of a quiet search: {cpu:.2f} ms")
    ratio = percentile(busy, 0.95) / percentile(quiet, 0.95)
    return [verdict("p95 while indexing / p95 quiet", ratio, BUSY_TARGET, "x")]


def _searched_during_change(talk: KernelTalk, repo: Path, queries: Sequence[str]) -> list[float]:
    done, words, files = Done(talk), Words(SEED), editable(repo)[:CHANGED_FILES]
    with Searches(talk, queries) as searches:
        started = time.perf_counter()
        for file in files:
            old = file.read_text(encoding="utf-8", errors="replace")
            file.write_text(function(words.next()) + old, encoding="utf-8")
        for file in files:
            done.after(file.relative_to(repo).as_posix(), started)
    return [seconds * 1e3 for seconds in searches.seconds]


def _again(queries: Sequence[str], count: int) -> Iterable[str]:
    return (queries[number % len(queries)] for number in range(count))


if __name__ == "__main__":
    sys.exit(main())
