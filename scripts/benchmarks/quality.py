"""Measure how well search finds code: ``quality.py --repos DIR [--zh] [--only NAME ...]``.

Runs ``score.py`` of the retrieval benchmark (``--bench``) on repositories that its ``checkout.py``
laid out, with the product's own index and search. ``--ablations`` prints what each constant of the
ranking is worth, ``--cross-validate`` whether their values hold for languages they were not chosen
on, ``--opinions`` what good and bad rerankers change, ``--phrases`` whether the place of a text of
the repository comes first, ``--yardsticks FOLDER`` all five yardsticks, compared with another run
by ``--before FOLDER``. ``CODEKERNEL_BENCH_CACHE`` names a folder in which indexes are kept for
the next run.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import fmean

import quality_opinions
import quality_phrases
import quality_tuning
import quality_yardsticks
from rival_venv import ROOT
from verdicts import verdict_at_least

SEARCHERS = ("Static", "Transformer", "Reranked")
OVERALL, LANGUAGE, HARD, SYMBOL, CHINESE = 0.870, 0.75, 0.70, 0.975, 0.97

Row = dict[str, object]


def main() -> int:
    """Print the figures; 0 if all targets are met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", type=Path, default=ROOT.parent / "shared" / "bench")
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[], help="names of repositories")
    parser.add_argument("--zh", action="store_true", help="ask in Chinese too")
    parser.add_argument("--searchers", nargs="*", default=["Static"], choices=SEARCHERS)
    parser.add_argument("--ablations", action="store_true")
    parser.add_argument("--cross-validate", action="store_true")
    parser.add_argument("--opinions", action="store_true")
    parser.add_argument("--phrases", action="store_true")
    parser.add_argument("--yardsticks", dest="out", type=Path, metavar="FOLDER")
    parser.add_argument("--before", type=Path, help="the folder of another run of --yardsticks")
    parser.add_argument("--mirrors", type=Path, help="git directories, for the bug reports")
    options = parser.parse_args()
    if options.out:
        quality_yardsticks.print_yardsticks(options)
        return 0
    if options.ablations:
        quality_tuning.print_ablations(options)
    if options.cross_validate:
        quality_tuning.print_cross_validation(options)
    if options.opinions:
        quality_opinions.compare_rerankers(options)
    if options.phrases:
        return 0 if quality_phrases.print_phrases(options) else 1
    if options.ablations or options.cross_validate or options.opinions:
        return 0
    met = [all(_measure(options, searcher)) for searcher in options.searchers]
    return 0 if all(met) else 1


def _measure(options: argparse.Namespace, searcher: str) -> list[bool]:
    name, rows = _run_score(options, searcher, [])
    print(f"## {name}: {len({row['repo'] for row in rows})} repositories, {len(rows)} queries\n")
    by_language = _group_by(rows, "language")
    symbol = _average(row for row in rows if row["category"] == "symbol")
    hard = _average(row for row in rows if not row["named"])
    _print_table("language", by_language, _average_repositories)
    _print_table("category", _group_by(rows, "category"), _average)
    _print_table("file name in query", _group_by(rows, "named"), _average)
    lowest = min(by_language, key=lambda it: _average_repositories(by_language[it]))
    met = [
        verdict_at_least("overall", _average_repositories(rows), OVERALL),
        verdict_at_least(
            f"lowest language ({lowest})", _average_repositories(by_language[lowest]), LANGUAGE
        ),
        verdict_at_least("file name not in query", hard, HARD),
        verdict_at_least("symbol", symbol, SYMBOL),
    ]
    return met + (_measure_chinese(options, searcher, rows) if options.zh else [])


def _measure_chinese(options: argparse.Namespace, searcher: str, english: list[Row]) -> list[bool]:
    """Chinese beside English on the queries that have both forms."""
    _, rows = _run_score(options, searcher, ["--zh"])
    both = _list_translated(options)
    same = [row for row in english if (row["repo"], row["query"]) in both]
    before, after = _average_repositories(same), _average_repositories(rows)
    print(f"\nin both languages: {len(rows)} queries, English {before:.4f}, Chinese {after:.4f}")
    _print_table("category, in Chinese", _group_by(rows, "category"), _average)
    hard = _average(row for row in rows if not row["named"])
    print(f"file name not in query, in Chinese: {hard:.3f}\n")
    return [verdict_at_least("Chinese / English", after / before if before else 0.0, CHINESE)]


def _list_translated(options: argparse.Namespace) -> set[tuple[object, object]]:
    found = set()
    for file in (options.bench / "queries").glob("*.json"):
        for row in json.loads(file.read_bytes()):
            if row.get("zh"):
                found.add((file.stem, row["query"]))
    return found


def _run_score(
    options: argparse.Namespace, searcher: str, more: list[str]
) -> tuple[str, list[Row]]:
    module = Path(__file__).with_name("kernel_searchers.py")
    command = [sys.executable, str(options.bench / "score.py"), "--runs", "1"]
    command += ["--searcher", f"{module}:{searcher}", "--repos", str(options.repos), *more]
    command += ["--only", *options.only] if options.only else []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        subprocess.run([*command, "--out", str(out)], check=True, stdout=subprocess.DEVNULL)
        content = json.loads(out.read_bytes())
    for result in content["results"]:
        if "error" in result:
            print(f"{result['repo']} FAILED: {result['error']}")
    return content["searcher"], [
        {**row, "repo": result["repo"], "language": result["language"]}
        for result in content["results"]
        for row in result["rows"]
    ]


def _group_by(rows: Iterable[Row], column: str) -> dict[object, list[Row]]:
    groups: dict[object, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row[column]].append(row)
    return groups


def _print_table(
    head: str, groups: dict[object, list[Row]], figure: Callable[[list[Row]], float]
) -> None:
    print(f"| {head} | queries | NDCG@10 |\n|---|---|---|")
    for name, rows in sorted(groups.items(), key=lambda it: str(it[0])):
        word = {True: "yes", False: "no"}.get(name, name) if isinstance(name, bool) else name
        print(f"| {word} | {len(rows)} | {figure(rows):.3f} |")
    print(flush=True)


def _average_repositories(rows: Iterable[Row]) -> float:
    """As the benchmark counts: every repository weighs the same."""
    means = [_average(group) for group in _group_by(rows, "repo").values()]
    return fmean(means) if means else 0.0


def _average(rows: Iterable[Row]) -> float:
    values = [float(str(row["ndcg10"])) for row in rows]
    return fmean(values) if values else 0.0


if __name__ == "__main__":
    sys.exit(main())
