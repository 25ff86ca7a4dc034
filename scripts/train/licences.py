"""The licence of every pinned package: ``licences.py WORK``; archives to licences.tsv beside this.

Tab-separated, one package per line: registry, package, version, the licence of the whole, licences
that single files of it have, and where the package says so.
"""

import sys
from collections import Counter
from pathlib import Path

import beside  # noqa: F401 - makes the next ones importable
import static_packages
from licence_fields import Licence, of_deb, of_npm, of_source, of_wheel
from licence_names import UNKNOWN
from static_fetch import Package, fetch, parse

TABLE = Path(__file__).with_name("licences.tsv")
HEAD = ("registry", "package", "version", "licence", "parts", "stated in")
READERS = {"pip": of_wheel, "npm": of_npm, "deb": of_deb, "source": of_source}

# Where the licence is not at the top, and texts that only a person can read.
ELSEWHERE = {
    "libspring-java": r"[^/]+/src/dist/license\.txt",
    "scala": r"[^/]+/doc/LICENSE\.md",
}
BY_HAND = {
    ("source", "git"): Licence("GPL-2.0-only", (), "COPYING, its first paragraph"),
    ("source", "keepass2"): Licence("GPL-2.0-or-later", (), "License.txt, its first paragraph"),
    ("source", "libjdom2-java"): Licence("LicenseRef-JDOM", (), "LICENSE.txt, BSD-like"),
    ("source", "logback"): Licence("EPL-1.0 OR LGPL-2.1-only", (), "LICENSE.txt"),
    ("source", "nunit"): Licence("zlib-acknowledgement", (), "license.txt"),
}


def main(work: Path) -> None:
    """Write the table and print how many packages each licence has."""
    packages = [*parse(static_packages.CORPUS), *parse(static_packages.TEST)]
    found = {package: _licence(package, fetch(package, work)) for package in packages}
    rows = sorted(
        (one.registry, one.name, one.version, mine.name, "; ".join(mine.parts), mine.stated_in)
        for one, mine in found.items()
    )
    table = "".join("\t".join(row) + "\n" for row in (HEAD, *rows))
    TABLE.write_text(table, encoding="utf-8")
    for name, count in Counter(mine.name for mine in found.values()).most_common():
        print(f"{count:4} {name}")
    if unread := [one.name for one, mine in found.items() if mine.name == UNKNOWN]:
        sys.exit(f"To be read by hand: {', '.join(unread)}.")


def _licence(package: Package, archive: Path) -> Licence:
    if known := BY_HAND.get((package.registry, package.name)):
        return known
    if path := ELSEWHERE.get(package.name):
        return of_source(archive, path)
    return READERS[package.registry](archive)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
