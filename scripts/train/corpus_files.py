"""The files of the corpus: ``corpus_files.py WORK REPOS``; pinned packages to ``WORK/files.jsonl``.

Each line is [package, path, language, text]. No file twice, none that is a copy of a file of the
benchmark's repositories in ``REPOS``, and no package with more than its share.
"""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import beside  # noqa: F401 - makes the next ones importable
import static_archives
import static_packages
from copies import Benchmark, whole
from static_fetch import fetch, parse

PACKAGE_SHARE = 6_000_000  # characters of one language that one package may bring
LANGUAGE_SHARE = 60_000_000


def main(work: Path, repositories: Path, packages: str) -> None:
    """Write the corpus unless it is there."""
    target = work / "files.jsonl"
    if target.exists():
        return
    part = target.with_suffix(".part")
    with part.open("w", encoding="utf-8") as file:
        for row in _rows(work, Benchmark(repositories), packages):
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    part.rename(target)


def _rows(work: Path, benchmark: Benchmark, packages: str) -> Iterator[list[str]]:
    seen: set[bytes] = set()
    languages: Counter[str] = Counter()
    copies: Counter[str] = Counter()
    for package in parse(packages):
        taken: Counter[str] = Counter()
        for path, language, text in texts(fetch(package, work)):
            key = whole(text)
            full = taken[language] > PACKAGE_SHARE or languages[language] > LANGUAGE_SHARE
            if key in seen or full:
                continue
            seen.add(key)
            if benchmark.copied(text):
                copies[package.name] += 1
                continue
            taken[language] += len(text)
            languages[language] += len(text)
            yield [package.name, path, language, text]
    print({name: f"{size / 1e6:.1f} MB" for name, size in languages.most_common()})
    print(f"Left out as copies of the benchmark's files: {dict(copies.most_common())}")


def texts(archive: Path) -> Iterator[tuple[str, str, str]]:
    """Path, language and text of a package's files, in the order of their hashes."""
    found = sorted(
        (hashlib.sha256(data).digest(), path, data)
        for path, data in static_archives.iterate_files(archive)
        if 0 < len(data) <= static_archives.MAX_FILE
    )
    for _, path, data in found:
        text = data.decode("utf-8", errors="ignore")
        language = static_archives.language(path)
        if language and max(map(len, text.splitlines()), default=0) <= static_archives.MAX_LINE:
            yield path, language, text


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), static_packages.CORPUS)
