"""What one question, or several in a row, have read of ``calls.db``, until somebody writes it."""

from kernel.domain.call_facts import NOWHERE
from kernel.storage.call_reader import CallReader, CallsOfFile, Placed

# Of one name; what is called so often is told apart by its class or not at all.
MOST_OF_A_NAME = 400
# Lookups that are remembered: some tens of megabytes at the most.
MOST_REMEMBERED = 20_000
MOST_FILES = 2_000


class Memory:
    """The reader's answers by what was asked; used by one thread at a time."""

    def __init__(self, reader: CallReader) -> None:
        self.reader = reader
        self._version: tuple[int, int] | None = None
        self._named: dict[tuple[str, str | None], list[Placed]] = {}
        self._in_file: dict[int, dict[str, list[Placed]]] = {}
        self._calls: dict[int, CallsOfFile | None] = {}
        self._extending: dict[str, list[Placed]] = {}
        self._stems: dict[str, list[tuple[int, str]]] = {}
        self._paths: dict[str, int | None] = {}

    def refresh(self) -> None:
        """Forget everything if anything has been written since, or if it is too much."""
        version = self.reader.version()
        lookups = len(self._named) + len(self._paths) + len(self._extending) + len(self._stems)
        too_much = lookups > MOST_REMEMBERED or len(self._calls) + len(self._in_file) > MOST_FILES
        if version != self._version or too_much:
            self._version = version
            memories: tuple[dict[object, object], ...] = (
                self._named, self._in_file, self._calls, self._extending, self._stems, self._paths,
            )  # type: ignore[assignment]  # fmt: skip
            for memory in memories:
                memory.clear()

    def named(self, name: str, of_class: str | None = None) -> list[Placed]:
        """The definitions of this name, of any class or of one; not more than MOST_OF_A_NAME."""
        key = (name, of_class)
        if key not in self._named:
            self._named[key] = self.reader.named(name, of_class, MOST_OF_A_NAME)
        return self._named[key]

    def in_file(self, file: int, name: str) -> list[Placed]:
        """The definitions of this name in a file."""
        return self._file(file).get(name, [])

    def at(self, file: int, number: int) -> Placed | None:
        """One definition."""
        if number == NOWHERE:
            return None
        everything = (one for same in self._file(file).values() for one in same)
        return next((one for one in everything if one.one.number == number), None)

    def calls_of(self, file: int) -> CallsOfFile | None:
        """What a file calls and imports."""
        if file not in self._calls:
            self._calls[file] = self.reader.calls_of(file)
        return self._calls[file]

    def extending(self, base: str) -> list[Placed]:
        """The classes that extend something of this name."""
        if base not in self._extending:
            self._extending[base] = self.reader.extending(base)
        return self._extending[base]

    def files_with_stem(self, stem: str) -> list[tuple[int, str]]:
        """The files that a module of this name may be."""
        if stem not in self._stems:
            self._stems[stem] = self.reader.files_with_stem(stem)
        return self._stems[stem]

    def file_at(self, path: str) -> int | None:
        """The file at a path."""
        if path not in self._paths:
            self._paths[path] = self.reader.file_at(path)
        return self._paths[path]

    def _file(self, file: int) -> dict[str, list[Placed]]:
        if file not in self._in_file:
            by_name: dict[str, list[Placed]] = {}
            for placed in self.reader.in_file(file):
                by_name.setdefault(placed.one.name, []).append(placed)
            self._in_file[file] = by_name
        return self._in_file[file]
