"""The corpus in one file, balanced: no language and no package drowns the others."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from static_archives import Source, sources

LANGUAGE_SHARE = 20_000_000  # characters of one language
PACKAGE_SHARE = 2_500_000  # characters of one language that one package may bring


def gather(archives: Iterable[tuple[str, Path]], target: Path) -> Path:
    """Write the corpus to ``target``, one source file per line, unless it is there."""
    if target.exists():
        return target
    part = target.with_suffix(".part")
    with part.open("w", encoding="utf-8") as file:
        for source in _balance_languages(archives):
            row = [source.package, source.language, source.text]
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    part.rename(target)
    return target


def read(corpus: Path) -> Iterator[Source]:
    """The corpus, source file by source file."""
    with corpus.open(encoding="utf-8") as file:
        for line in file:
            yield Source(*json.loads(line))


def _balance_languages(archives: Iterable[tuple[str, Path]]) -> Iterator[Source]:
    """Packages of a language get equal shares: what the small ones leave, the larger ones get."""
    found: dict[str, dict[str, list[Source]]] = {}
    for package, archive in archives:
        taken: Counter[str] = Counter()
        for source in sources(archive, package):
            if taken[source.language] < PACKAGE_SHARE:
                taken[source.language] += len(source.text)
                found.setdefault(source.language, {}).setdefault(package, []).append(source)
    for language in sorted(found):
        yield from _shares(found[language])


def _shares(packages: dict[str, list[Source]]) -> Iterator[Source]:
    left = LANGUAGE_SHARE
    sizes = {
        package: sum(len(source.text) for source in found) for package, found in packages.items()
    }
    for place, package in enumerate(sorted(sizes, key=lambda name: (sizes[name], name))):
        share = left / (len(sizes) - place)
        for source in packages[package]:
            if share <= 0:
                break
            share -= len(source.text)
            left -= len(source.text)
            yield source
