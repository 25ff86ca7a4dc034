"""What is indexed and what is skipped, folder by folder, for a map that one can click into."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from codekernel.domain.index import FileRecord, SkippedFileRecord, detect_language


@dataclass(slots=True)
class MapEntry:
    """A file of a folder, or a folder with all that is below it."""

    name: str
    is_folder: bool
    files: int = 0
    size: int = 0
    languages: Counter[str] = field(default_factory=Counter)
    skipped: int = 0

    @property
    def language(self) -> str:
        """Return the language of most bytes; empty if nothing is indexed."""
        return self.languages.most_common(1)[0][0] if self.languages else ""


@dataclass(frozen=True, slots=True)
class IndexMap:
    """The entries of a folder, the largest first, and the languages below it, likewise."""

    entries: list[MapEntry]
    languages: list[MapEntry]


def build_index_map(
    folder: str, files: Iterable[tuple[str, FileRecord]], skipped: Iterable[SkippedFileRecord]
) -> IndexMap:
    """Add up files and skipped paths below a folder, '' for the root, by its entries."""
    prefix = f"{folder}/" if folder else ""
    entries: dict[str, MapEntry] = {}
    languages: dict[str, MapEntry] = {}
    for path, record in files:
        entry = _get_entry(entries, path[len(prefix) :])
        name = detect_language(path)
        language = languages.setdefault(name, MapEntry(name, is_folder=False))
        for each in (entry, language):
            each.files += 1
            each.size += record.size
            each.languages[name] += record.size
    for one in skipped:
        if one.path.startswith(prefix) and len(one.path) > len(prefix):
            _get_entry(entries, one.path[len(prefix) :]).skipped += 1
    return IndexMap(_sort(entries), _sort(languages))


def _get_entry(entries: dict[str, MapEntry], rest: str) -> MapEntry:
    name, slash, _ = rest.partition("/")
    return entries.setdefault(name, MapEntry(name, is_folder=bool(slash)))


def _sort(entries: dict[str, MapEntry]) -> list[MapEntry]:
    return sorted(entries.values(), key=lambda each: (-each.size, -each.skipped, each.name))
