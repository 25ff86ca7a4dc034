"""The files that docs/privacy.md lists, as patterns of paths below userData."""

import re
from dataclasses import dataclass

_HEADING = "## Files in userData"
_CELL = re.compile(r"`([^`]+)`")
# What is written only in cases that a traced run does not have.
_SELDOM = "*"


@dataclass(frozen=True, slots=True)
class DocumentedFile:
    """One path of the table: ``<x>`` stands for any name, ``**`` for anything below."""

    name: str
    is_seldom: bool

    def matches(self, path: str) -> bool:
        """Whether the document means this path; a temporary name beside it is meant, too."""
        pattern = re.escape(self.name).replace(r"\*\*", ".+")
        pattern = re.sub(r"<[^>]*>", "[^/]+", pattern)
        return re.fullmatch(pattern, path) is not None


def documented_files(document: str) -> list[DocumentedFile]:
    """Read the table; a row whose name ends with an asterisk outside the code is a seldom one."""
    table = document.partition(_HEADING)[2].partition("\n## ")[0]
    found = []
    for line in table.splitlines():
        first, _, _ = line.removeprefix("| ").partition(" | ")
        names = _CELL.findall(first) if line.startswith("| `") else []
        found += [DocumentedFile(name, first.endswith(_SELDOM)) for name in names]
    return found
