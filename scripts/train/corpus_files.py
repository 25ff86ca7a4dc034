"""The files of the corpus: ``corpus_files.py WORK``; pinned packages to ``WORK/files.jsonl``.

Each line is [package, path, language, text]. No file twice, none of the benchmark's, and no package
with more than its share.
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
from static_fetch import fetch, parse

PACKAGE_SHARE = 6_000_000  # characters of one language that one package may bring
LANGUAGE_SHARE = 60_000_000


def main(work: Path, packages: str) -> None:
    """Write the corpus unless it is there."""
    target = work / "files.jsonl"
    if target.exists():
        return
    part = target.with_suffix(".part")
    with part.open("w", encoding="utf-8") as file:
        for row in _rows(work, packages):
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    part.rename(target)


def _rows(work: Path, packages: str) -> Iterator[list[str]]:
    seen: set[bytes] = set()
    languages: Counter[str] = Counter()
    for package in parse(packages):
        taken: Counter[str] = Counter()
        for path, language, text in _texts(fetch(package, work)):
            key = hashlib.sha256("".join(text.split()).encode()).digest()
            full = taken[language] > PACKAGE_SHARE or languages[language] > LANGUAGE_SHARE
            if key in seen or full:
                continue
            seen.add(key)
            taken[language] += len(text)
            languages[language] += len(text)
            yield [package.name, path, language, text]
    print({name: f"{size / 1e6:.1f} MB" for name, size in languages.most_common()})


def _texts(archive: Path) -> Iterator[tuple[str, str, str]]:
    found = sorted(
        (hashlib.sha256(data).digest(), path, data)
        for path, data in static_archives.files(archive)
        if 0 < len(data) <= static_archives.LARGEST_FILE
    )
    for _, path, data in found:
        text = data.decode("utf-8", errors="ignore")
        language = static_archives.language(path)
        if language and max(map(len, text.splitlines()), default=0) <= static_archives.LONGEST_LINE:
            yield path, language, text


if __name__ == "__main__":
    main(Path(sys.argv[1]), static_packages.CORPUS)
