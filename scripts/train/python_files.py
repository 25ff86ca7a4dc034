"""The files of many Python packages: ``python_files.py WORK REPOS`` to ``WORK/python_files.jsonl``.

The packages are those of python_packages.tsv: pinned, small, often used, but not the best known;
none of the benchmarks'. Each line is [package, path, language, text]; what is near to a file of the
benchmark's repositories in ``REPOS`` is left out.
"""

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import beside
import static_archives
from copies import Benchmark
from static_fetch import Package, fetch

PACKAGES = beside.ROOT / "scripts" / "train" / "python_packages.tsv"
MAX_FILE = 200_000  # bytes
MAX_PACKAGE = 2_500_000  # characters
SKIPPED = frozenset(
    ["vendor", "_vendor", "vendored", "_vendored", "tests", "test", "testing", "migrations"]
)
NOT_CODE = re.compile(r"(^|/)(test_|conftest)[^/]*$|(_pb2|_test)\.py$")


def main(work: Path, repositories: Path) -> None:
    """Write the files unless they are there."""
    target = work / "python_files.jsonl"
    if target.exists():
        return
    part, benchmark, seen = target.with_suffix(".part"), Benchmark(repositories), set()
    with part.open("w", encoding="utf-8") as file:
        for package in read_packages():
            for row in _rows(fetch(package, work), package.name):
                key = hashlib.blake2b(row[3].encode(), digest_size=10).digest()
                if key in seen or benchmark.copied(row[3]):
                    continue
                seen.add(key)
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    part.rename(target)


def read_packages() -> Iterator[Package]:
    """The pinned packages."""
    for line in PACKAGES.read_text(encoding="utf-8").splitlines():
        name, version, file, checksum = line.split("\t")
        registry = "pure" if file.endswith(".whl") else "sdist"
        yield Package(registry, name, version, file, checksum)


def _rows(archive: Path, package: str) -> Iterator[list[str]]:
    total = 0
    for path, data in static_archives.iterate_files(archive):
        language = static_archives.language(path)
        parts = {part.lower() for part in PurePosixPath(path).parts}
        if language not in {"python", "prose"} or len(data) > MAX_FILE or parts & SKIPPED:
            continue
        text = data.decode("utf-8", errors="ignore")
        too_long = max(map(len, text.splitlines()), default=0) > static_archives.MAX_LINE
        if NOT_CODE.search(path) or not text or too_long:
            continue
        total += len(text)
        if total > MAX_PACKAGE:
            return
        yield [package, path, language, text]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
