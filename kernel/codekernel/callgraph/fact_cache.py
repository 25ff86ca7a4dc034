"""Cache of lookups in calls.db, evicted when either database changes or the cache is full."""

from codekernel.domain.call_graph import NO_DEFINITION
from codekernel.storage.catalog.call_store import CallReader, FileCalls, LocatedDefinition

# Of one name; what is called so often is told apart by its class or not at all.
MAX_DEFINITIONS_PER_NAME = 400

# Lookups that are remembered: some tens of megabytes at the most.
MAX_CACHED_LOOKUPS = 20_000

MAX_CACHED_FILES = 2_000


class FactCache:
    """The reader's answers by what was asked; used by one thread at a time."""

    def __init__(self, reader: CallReader) -> None:
        self.reader = reader
        self._version: tuple[int, int] | None = None
        self._by_name: dict[tuple[str, str | None], list[LocatedDefinition]] = {}
        self._in_file: dict[int, dict[str, list[LocatedDefinition]]] = {}
        self._calls: dict[int, FileCalls | None] = {}
        self._subclasses: dict[str, list[LocatedDefinition]] = {}
        self._stems: dict[str, list[tuple[int, str]]] = {}
        self._paths: dict[str, int | None] = {}

    def evict_if_changed(self) -> None:
        """Forget everything if anything has been written since, or if it is too much."""
        version = self.reader.read_version()
        lookups = len(self._by_name) + len(self._paths) + len(self._subclasses) + len(self._stems)
        too_much = (
            lookups > MAX_CACHED_LOOKUPS or len(self._calls) + len(self._in_file) > MAX_CACHED_FILES
        )
        if version != self._version or too_much:
            self._version = version
            memories: tuple[dict[object, object], ...] = (
                self._by_name, self._in_file, self._calls, self._subclasses, self._stems,
                self._paths,
            )  # type: ignore[assignment]  # fmt: skip
            for memory in memories:
                memory.clear()

    def find_definitions(self, name: str, of_class: str | None = None) -> list[LocatedDefinition]:
        """The definitions of this name, of any class or of one; not more than MOST_OF_A_NAME."""
        key = (name, of_class)
        if key not in self._by_name:
            self._by_name[key] = self.reader.find_definitions(
                name, of_class, MAX_DEFINITIONS_PER_NAME
            )
        return self._by_name[key]

    def find_in_file(self, file: int, name: str) -> list[LocatedDefinition]:
        """The definitions of this name in a file."""
        return self._load_definitions(file).get(name, [])

    def get_definition(self, file: int, number: int) -> LocatedDefinition | None:
        """One definition."""
        if number == NO_DEFINITION:
            return None
        everything = (one for same in self._load_definitions(file).values() for one in same)
        return next((one for one in everything if one.definition.number == number), None)

    def get_calls(self, file: int) -> FileCalls | None:
        """What a file calls and imports."""
        if file not in self._calls:
            self._calls[file] = self.reader.read_calls(file)
        return self._calls[file]

    def find_subclasses(self, base: str) -> list[LocatedDefinition]:
        """The classes that extend something of this name."""
        if base not in self._subclasses:
            self._subclasses[base] = self.reader.find_subclasses(base)
        return self._subclasses[base]

    def find_files_with_stem(self, stem: str) -> list[tuple[int, str]]:
        """The files that a module of this name may be."""
        if stem not in self._stems:
            self._stems[stem] = self.reader.find_files_by_stem(stem)
        return self._stems[stem]

    def find_file(self, path: str) -> int | None:
        """The file at a path."""
        if path not in self._paths:
            self._paths[path] = self.reader.find_file_id(path)
        return self._paths[path]

    def _load_definitions(self, file: int) -> dict[str, list[LocatedDefinition]]:
        if file not in self._in_file:
            by_name: dict[str, list[LocatedDefinition]] = {}
            for placed in self.reader.list_definitions(file):
                by_name.setdefault(placed.definition.name, []).append(placed)
            self._in_file[file] = by_name
        return self._in_file[file]
