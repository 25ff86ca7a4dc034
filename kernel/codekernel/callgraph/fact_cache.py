"""Cache of lookups in calls.db, evicted when either database changes or the cache is full.

Also the lookup of the files that an imported module may be.
"""

from collections.abc import Callable, Iterable
from posixpath import normpath
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


_SCRIPT_EXTENSIONS = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")

_STRIPPED_EXTENSIONS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx")

# Folders that a package's own path does not name.
_IGNORED_FOLDERS = frozenset(
    {"src", "lib", "source", "main", "java", "kotlin", "scala", "dist", "index"}
)

# The first of them that has what is imported is meant.
MAX_CANDIDATES = 4

_PREFERRED_FOLDERS = ("packages/", "src/", "lib/")

_STANDARD_CRATES = frozenset({"std", "core", "alloc"})

_LOCAL_ROOTS = frozenset({"crate", "self", "super", "@", "~", "#", ""})


def resolve_python_module(cache: FactCache, module: str, importer: str) -> list[int]:
    """The file of a Python module: beside the importer, or wherever a path ends like it."""
    name = module.lstrip(".")
    dots = len(module) - len(name)
    parts = name.split(".") if name else []
    if dots:
        folders = importer.split("/")[:-dots] if dots <= importer.count("/") + 1 else []
        target = "/".join([*folders, *parts])
        ends = (".py", "/__init__.py", ".pyi", "/__init__.pyi")
        return _find_first(cache, (f"{target}{end}".lstrip("/") for end in ends))
    return _rank_by_depth(
        (file, path)
        for file, path in cache.find_files_with_stem(parts[-1])
        if _has_suffix(_split_module_path(path), parts) and path.endswith((".py", ".pyi"))
    )


def resolve_javascript_module(cache: FactCache, module: str, importer: str) -> list[int]:
    """The file of a JavaScript module: a relative path, or a package of this repository."""
    if module.startswith("."):
        target = normpath(f"{importer.rpartition('/')[0]}/{module}").lstrip("/")
        target = "" if target == "." else target
        without = (target.removesuffix(end) for end in _STRIPPED_EXTENSIONS if target.endswith(end))
        places = [target] if target.endswith(_STRIPPED_EXTENSIONS) else []
        places += [f"{stem}{end}" for stem in (target, *without) for end in _SCRIPT_EXTENSIONS]
        places += [f"{target}/index{end}".lstrip("/") for end in _SCRIPT_EXTENSIONS]
        return _find_first(cache, places)
    parts = [part for part in module.split("/") if part and part[0] not in "@~#"]
    if not parts:
        return []
    parts[-1] = parts[-1].split(".")[0]
    return _rank_by_depth(
        (file, path)
        for stem in {parts[-1], "src"}
        for file, path in cache.find_files_with_stem(stem)
        if path.endswith(_SCRIPT_EXTENSIONS)
        and _has_suffix(_split_named_path(path), parts)
        # express is a package from elsewhere, whatever src/express.ts is.
        and (len(parts) > 1 or path.rpartition("/")[2].startswith("index."))
    )


def is_in_module(path: str, owner: str, module: str, *, is_exact: bool) -> bool:
    """Whether a definition at a path, inside ``owner``, may be what a module of its words holds."""
    words = [word for word in module.replace("::", "/").replace(".", "/").split("/") if word]
    if words and words[0] in _STANDARD_CRATES:
        return False
    words = [word for word in words if word not in _LOCAL_ROOTS]
    if not words:
        return True
    # Outer.Inner of Java, and modules inside of files in Rust.
    inner = [name for name in owner.split(".") if name]
    if is_exact:  # the folders are those of the package, at least its last two
        whole = "/".join(("", path.rpartition(".")[0], *inner, ""))
        return (not inner or inner[-1] in words) and f"/{'/'.join(words[-2:])}/" in whole
    places = [*_split_named_path(path), *inner]
    return words[-1] in places or words[-1].removeprefix("go-") in places


def _find_first(cache: FactCache, places: Iterable[str]) -> list[int]:
    return [found for place in places if (found := cache.find_file(place)) is not None][:1]


def _rank_by_depth(files: Iterable[tuple[int, str]]) -> list[int]:
    """Some of the files, the best first: examples and vendored copies lie elsewhere, or deeper."""

    def order(one: tuple[int, str]) -> tuple[bool, bool, int, str]:
        path = one[1]
        declares = path.endswith(".d.ts")
        return declares, not path.startswith(_PREFERRED_FOLDERS), path.count("/"), path

    return [file for file, _ in sorted(files, key=order)[:MAX_CANDIDATES]]


def _split_module_path(path: str) -> list[str]:
    parts = path.rpartition(".")[0].split("/")
    return parts[:-1] if parts[-1] == "__init__" else parts


def _split_named_path(path: str) -> list[str]:
    folder, _, name = path.rpartition("/")
    parts = [*folder.split("/"), name.split(".", 1)[0]]
    return [part for part in parts if part and part not in _IGNORED_FOLDERS]


def _has_suffix(parts: list[str], wanted: list[str]) -> bool:
    return parts[-len(wanted) :] == wanted


# By language family; the other families need no file of their own for a module.
MODULE_RESOLVERS = {"python": resolve_python_module, "javascript": resolve_javascript_module}
