"""Cold index of the benchmark's repositories beside semble: ``index.py --repos DIR [--only NAME]``.

Both run in long-lived processes of their own whose imports are done and whose model is loaded, take
turns repository by repository, and index with the same static model. Ours is measured to idle:
words, vectors and catalogue are on disk; semble's to an index in memory, with its saving apart.
Then: how soon the first answer comes, the walk beside ``rg --files``, and the re-opening of a
repository of 13,000 chunks by a new kernel process.
"""

import argparse
import statistics
import sys
from pathlib import Path

import index_reopen
import index_verdicts
import rival_tables
import rivals
from index_tables import HEAD, row, total
from rival_process import RivalFailed, RivalProcess
from rival_tables import Figures
from rival_venv import ROOT
from verdicts import verdict

FIRST_ANSWER_SECONDS = 0.5
# After so long without an answer there is none: every file has been read.
WAIT_TIMEOUT_SECONDS = 30.0

OURS, ALL = "codekernel", "semble all files"  # both index documents and settings too


class Ours:
    """Our index in its process, with the rivals' ways."""

    name = OURS

    def __init__(self) -> None:
        python = Path(sys.executable)
        self.process = RivalProcess(OURS, python, "index_ours_child.py", [], {})

    def index(self, root: Path) -> Figures:
        """Index ``root`` anew."""
        return self.process.ask({"do": "index", "root": str(root)})

    def first_answer(self, root: Path, query: str) -> Figures:
        """Index anew until ``query`` has an answer."""
        limit = WAIT_TIMEOUT_SECONDS
        request = {"do": "first_answer", "root": str(root), "query": query, "limit_seconds": limit}
        return self.process.ask(request)

    def walk(self, root: Path) -> Figures:
        """Find the files of ``root``."""
        return self.process.ask({"do": "walk", "root": str(root)})

    def close(self) -> None:
        """End the process; the next request starts another."""
        self.process.close()


def main() -> int:
    """Print Markdown; 0 if all targets are met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", type=Path, default=ROOT.parent / "shared" / "bench")
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[], help="names of repositories")
    parser.add_argument("--runs", type=int, default=1, help="of each, the median counts")
    parser.add_argument("--reopen-chunks", type=int, default=index_reopen.CHUNKS)
    options = parser.parse_args()
    roots = rivals.repositories(options.bench, options.repos, options.only)
    if not roots:
        sys.exit(f"There is no repository of {options.bench / 'repos.json'} in {options.repos}.")
    ours = Ours()
    rows = _index_table(ours, roots, options.runs)
    met = index_verdicts.print_verdicts(rows, OURS, ALL)
    met += _first_answers(ours, roots, options.bench)
    _walks(ours, roots)
    ours.close()
    met += index_reopen.measure_reopen(
        options.bench,
        roots,
        {name: took["chunks"] for name, took in rows[OURS].items()},
        options.reopen_chunks,
    )
    return 0 if all(met) else 1


def _index_table(ours: Ours, roots: dict[str, Path], runs: int) -> dict[str, dict[str, Figures]]:
    """Each indexer's figures for each repository."""
    indexers: list[Ours | rivals.Searching] = [
        ours,
        *rivals.open_rivals(rivals.SEARCHING, ("semble", "semble-all")),
    ]
    rows: dict[str, dict[str, Figures]] = {indexer.name: {} for indexer in indexers}
    print(HEAD, flush=True)
    for name, root in roots.items():
        _read_once(root)
        laps = [(indexer.name, _lap(indexer, root)) for _ in range(runs) for indexer in indexers]
        for indexer, found in rows.items():
            taken = [took for who, took in laps if who == indexer and took]
            if taken:
                found[name] = _median(taken)
                print(row(name, indexer, found[name]), flush=True)
    for rival in indexers:
        print(total(rival.name, rows[rival.name].values()))
        rival.close()
    print(flush=True)
    return rows


def _lap(indexer: Ours | rivals.Searching, root: Path) -> Figures | None:
    try:
        return indexer.index(root)
    except RivalFailed as failure:
        print(f"{indexer.name} failed on {root}: {failure}", file=sys.stderr, flush=True)
        return None


def _first_answers(ours: Ours, roots: dict[str, Path], bench: Path) -> list[bool]:
    """Until the first question of each repository has an answer, from an empty folder."""
    replies = {
        name: ours.first_answer(root, rivals.queries(bench, name)[0])
        for name, root in roots.items()
    }
    for name, reply in replies.items():
        if not reply["hits"] or reply["seconds"] > FIRST_ANSWER_SECONDS:
            print(f"  ({name}: {reply['hits']} hits after {reply['seconds']:.2f} s)")
    times = [reply["seconds"] for reply in replies.values()]
    closing = max(reply["close_seconds"] for reply in replies.values())
    print(
        f"first answer: {len(times)} repositories, median {statistics.median(times):.3f} s; "
        f"closed in the middle of indexing within {closing:.3f} s"
    )
    return [verdict("first answer, slowest repository", max(times), FIRST_ANSWER_SECONDS, " s")]


def _walks(ours: Ours, roots: dict[str, Path]) -> None:
    """The files found, beside ripgrep; its time has the start of a process in it."""
    walked = [ours.walk(root) for root in roots.values()]
    print(f"\n{rival_tables.WALK_HEAD}\n{rival_tables.walk_row(OURS, walked)}")
    for walker in rivals.open_rivals(rivals.WALKING, ("rg",)):
        theirs = [walker.index(root) for root in roots.values()]
        print(rival_tables.walk_row(walker.name, theirs))
        for column, name in (("seconds", "time"), ("cpu_seconds", "CPU")):
            ours_took, took = (sum(lap[column] for lap in laps) for laps in (walked, theirs))
            if took:  # of few small repositories the system counts no processor time at all
                print(f"walk, {name}: {ours_took / took:.2f}x {walker.name}")
    print(flush=True)


def _read_once(root: Path) -> None:
    """Whoever comes first must not pay for the disk."""
    for file in root.rglob("*"):
        if file.is_file():
            file.read_bytes()


def _median(laps: list[Figures]) -> Figures:
    return {column: statistics.median(lap[column] for lap in laps) for column in laps[0]}


if __name__ == "__main__":
    sys.exit(main())
