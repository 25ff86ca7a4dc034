"""Cache of lookups in calls.db, evicted when either database changes or the cache is full."""

from collections.abc import Callable
from typing import Any, TypeVar

from codekernel.domain.call_graph import NO_DEFINITION
from codekernel.storage.catalog.call_store import CallReader, FileCalls, LocatedDefinition

# Definitions read for one name; more than this are told apart by their class or not at all.
MAX_DEFINITIONS_PER_NAME = 400

# Some tens of megabytes at the most.
MAX_CACHED_LOOKUPS = 20_000

MAX_CACHED_FILES = 2_000

Answer = TypeVar("Answer")


class FactCache:
    """The answers of a CallReader by their arguments; used by one thread at a time."""

    def __init__(self, reader: CallReader) -> None:
        self.reader = reader
        self._version: tuple[int, int] | None = None
        self._lookups: dict[tuple[object, ...], Any] = {}
        self._files: dict[tuple[object, ...], Any] = {}

    def evict_if_changed(self) -> None:
        """Clear the cache if either database was written since, or if it is full."""
        version = self.reader.read_version()
        is_full = len(self._lookups) > MAX_CACHED_LOOKUPS or len(self._files) > MAX_CACHED_FILES
        if version != self._version or is_full:
            self._version = version
            self._lookups.clear()
            self._files.clear()

    def find_definitions(self, name: str, of_class: str | None = None) -> list[LocatedDefinition]:
        """Return the definitions of a name, of any class or of one."""
        find = self.reader.find_definitions
        return _get_cached(self._lookups, find, name, of_class, MAX_DEFINITIONS_PER_NAME)

    def find_in_file(self, file: int, name: str) -> list[LocatedDefinition]:
        """Return the definitions of a name in a file."""
        return _get_cached(self._files, self._group_definitions, file).get(name, [])

    def get_definition(self, file: int, number: int) -> LocatedDefinition | None:
        """Return the definition of a file with this number, if there is one."""
        if number == NO_DEFINITION:
            return None
        by_name = _get_cached(self._files, self._group_definitions, file)
        same_file = (one for same_name in by_name.values() for one in same_name)
        return next((one for one in same_file if one.number == number), None)

    def get_calls(self, file: int) -> FileCalls | None:
        """Return what a file calls and imports."""
        return _get_cached(self._files, self.reader.read_calls, file)

    def find_subclasses(self, base: str) -> list[LocatedDefinition]:
        """Return the classes that extend something of this name."""
        return _get_cached(self._lookups, self.reader.find_subclasses, base)

    def find_files_with_stem(self, stem: str) -> list[tuple[int, str]]:
        """Return the files that a module of this name may be."""
        return _get_cached(self._lookups, self.reader.find_files_by_stem, stem)

    def find_file(self, path: str) -> int | None:
        """Return the id of the file at a path."""
        return _get_cached(self._lookups, self.reader.find_file_id, path)

    def _group_definitions(self, file: int) -> dict[str, list[LocatedDefinition]]:
        by_name: dict[str, list[LocatedDefinition]] = {}
        for definition in self.reader.list_definitions(file):
            by_name.setdefault(definition.name, []).append(definition)
        return by_name


def _get_cached(
    cache: dict[tuple[object, ...], Any], read: Callable[..., Answer], *arguments: object
) -> Answer:
    key = (read, *arguments)
    if key not in cache:
        cache[key] = read(*arguments)
    answer: Answer = cache[key]
    return answer
