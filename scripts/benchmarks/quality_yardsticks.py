"""All five yardsticks at once: repositories in English and Chinese, histories, CoSQA, bug reports.

Each scorer of the benchmark writes its rows to a file of FOLDER; ``--before`` names the folder of
another run, with another commit or searcher, and prints the differences of the same questions.
"""

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

MODULE = Path(__file__).with_name("kernel_searchers.py")

Rows = Mapping[str, Any]

RESAMPLES = 2_000

# The metrics that are printed of each yardstick.
METRICS: Mapping[str, tuple[str, ...]] = {
    "english": ("ndcg10",),
    "chinese": ("ndcg10",),
    "history": ("ndcg10",),
    "cosqa": ("ndcg10",),
    "reports": ("ndcg10", "acc1", "acc5"),
}


def print_yardsticks(options: argparse.Namespace) -> None:
    """Run those whose data are there, and print figures and differences."""
    options.out.mkdir(parents=True, exist_ok=True)
    for searcher in options.searchers:
        for name, command in _list_commands(options).items():
            target = options.out / f"{name}-{searcher}.json"
            if not target.exists():
                words = ["--searcher", f"{MODULE}:{searcher}", "--out", str(target)]
                subprocess.run([sys.executable, *command, *words], check=True, capture_output=True)
        _print_table(options, searcher)


def _list_commands(options: argparse.Namespace) -> dict[str, list[str]]:
    bench, only = options.bench, (["--only", *options.only] if options.only else [])
    score = [str(bench / "score.py"), "--repos", str(options.repos), "--runs", "1", *only]
    history = [str(bench / "score_hist.py"), "--repos", str(options.repos), *only]
    commands = {"english": score, "chinese": [*score, "--zh"], "history": history}
    commands["cosqa"] = [str(bench / "score_cosqa.py")]
    if options.mirrors:
        commands["reports"] = [str(bench / "score_swe.py"), "--mirrors", str(options.mirrors)]
    return commands


def _print_table(options: argparse.Namespace, searcher: str) -> None:
    print(f"## {searcher}\n\n| yardstick | questions | metric | value | difference, 95 % |")
    print("|---|---|---|---|---|")
    for name in _list_commands(options):
        after = read_groups(options.out / f"{name}-{searcher}.json")
        before = read_groups(options.before / f"{name}-{searcher}.json") if options.before else {}
        for metric in METRICS[name]:
            value = fmean(fmean(row[metric] for row in rows.values()) for rows in after.values())
            change = _compare(before, after, metric) if before else ""
            count = sum(map(len, after.values()))
            print(f"| {name} | {count} | {metric} | {value:.4f} | {change} |", flush=True)
    print()


def read_groups(file: Path) -> dict[str, dict[str, Rows]]:
    """Return the rows of each repository by question, whichever scorer wrote them."""
    groups: dict[str, dict[str, Rows]] = {}
    for result in json.loads(file.read_bytes())["results"]:
        rows = {str(row.get("id", row["query"])): row for row in result["rows"]}
        groups.setdefault(result.get("group") or result["repo"], {}).update(rows)
    return groups


def _compare(before: Mapping[str, Rows], after: Mapping[str, Rows], metric: str) -> str:
    """Return the mean difference over repositories and its interval."""
    gaps = [
        [rows[key][metric] - before[group][key][metric] for key in rows if key in before[group]]
        for group, rows in after.items()
        if group in before
    ]
    mean, low, high = compute_interval([each for each in gaps if each])
    return f"{mean:+.4f} ({low:+.4f} to {high:+.4f})"


def compute_interval(gaps: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """Return the mean over repositories and 95 % of a bootstrap of these, then their questions."""
    dice = random.Random(0)  # noqa: S311 - the same figures each time
    means = sorted(
        fmean(
            fmean(dice.choices(each, k=len(each)))
            for each in (dice.choices(gaps, k=len(gaps)) if len(gaps) > 1 else gaps)
        )
        for _ in range(RESAMPLES)
    )
    return fmean(map(fmean, gaps)), means[round(0.025 * RESAMPLES)], means[round(0.975 * RESAMPLES)]
