"""Is the benchmark outside the corpus? ``outside.py WORK REPOS``; exit status 1 if it is not.

Compares WORK/files.jsonl, and the packages that models are tested with, to the benchmark's
repositories in ``REPOS``. What is found goes to WORK/outside.json as [package, path].
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import beside  # noqa: F401 - makes the next ones importable
import static_packages
from copies import Benchmark, Copy
from corpus_files import texts
from static_fetch import fetch, parse

Found = tuple[str, str, Copy]  # package, path


def main(work: Path, repositories: Path) -> bool:
    """Print what is a copy; whether there is none."""
    benchmark = Benchmark(repositories)
    print(benchmark)
    sides = {"corpus": _corpus(work), "test packages": _test(work)}
    found = {name: list(_copies(benchmark, side, name)) for name, side in sides.items()}
    every = [one for side in found.values() for one in side]
    for package, path, copy in sorted(every, key=lambda one: one[:2]):
        print(f"{copy.share:4.0%} {package} {path} -> {copy.origin}")
    for name, side in found.items():
        equal = sum(copy.equal for _, _, copy in side)
        print(f"{name}: {equal} equal, {len(side) - equal} near")
        print(dict(Counter(package for package, _, _ in side).most_common()))
    listed = [[package, path] for package, path, _ in every]
    (work / "outside.json").write_text(json.dumps(listed, indent=0), encoding="utf-8")
    return not every


def _copies(
    benchmark: Benchmark, files: Iterator[tuple[str, str, str]], name: str
) -> Iterator[Found]:
    count = 0
    for package, path, text in files:
        count += 1
        if copy := benchmark.copied(text):
            yield package, path, copy
    print(f"{name}: {count} files compared", flush=True)


def _corpus(work: Path) -> Iterator[tuple[str, str, str]]:
    with (work / "files.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            package, path, _, text = json.loads(line)
            yield package, path, text


def _test(work: Path) -> Iterator[tuple[str, str, str]]:
    for package in parse(static_packages.TEST):
        for path, _, text in texts(fetch(package, work)):
            yield package.name, path, text


if __name__ == "__main__":
    sys.exit(0 if main(Path(sys.argv[1]), Path(sys.argv[2])) else 1)
