"""Find the callers and callees of a definition as edges with a certainty."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from codekernel.callgraph.call_resolver import CallResolver
from codekernel.callgraph.fact_cache import FactCache
from codekernel.callgraph.languages import LANGUAGES, NAMED_AS_CLASS
from codekernel.callgraph.symbol_table import Certainty, get_language_family
from codekernel.domain.call_graph import NO_DEFINITION, CallReference
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled
from codekernel.storage.catalog.call_store import FileCalls, LocatedDefinition

# Files searched for callers of one name, the nearest first: half of all files may call it.
MAX_SEARCHED_FILES = 200


@dataclass(slots=True)
class CallEdge:
    """Calls between two definitions; a symbol of None is a file's code outside of all."""

    file: int
    path: str
    symbol: LocatedDefinition | None
    certainty: Certainty
    lines: list[int] = field(default_factory=list)

    @property
    def key(self) -> tuple[int, int]:
        """The identity of the other end."""
        return self.symbol.key if self.symbol else (self.file, NO_DEFINITION)


@dataclass(slots=True)
class CallEdges:
    """The edges at one definition, the surest first."""

    edges: list[CallEdge]
    unread_file_count: int = 0
    unresolved_names: list[str] = field(default_factory=list)


class CallEdgeFinder:
    """Finds the edges at a definition."""

    def __init__(self, cache: FactCache, cancel: CancelToken) -> None:
        self._cache = cache
        self._resolver = CallResolver(cache)
        self._cancel = cancel

    def find_callers(self, target: LocatedDefinition) -> CallEdges:
        """Return the callers of a definition; making an object calls its constructor."""
        wanted = {target.key, *self._find_constructed_class(target)}
        found: dict[tuple[int, int], CallEdge] = {}
        unread = 0
        constructed = [target.class_name] if _is_constructor(target) else []
        for name in dict.fromkeys([target.name, *constructed]):
            files = _sort_by_distance(target, self._cache.reader.find_calling_files(name))
            unread += max(0, len(files) - MAX_SEARCHED_FILES)
            for file in files[:MAX_SEARCHED_FILES]:
                self._raise_if_cancelled()
                if calls := self._cache.get_calls(file):
                    for one in _find_references(calls, name):
                        self._add_caller(one, calls, wanted, found)
        return CallEdges(_sort_by_certainty(found.values()), unread)

    def find_callees(self, caller: LocatedDefinition) -> CallEdges:
        """Return what a definition calls; of a class, what its constructors call."""
        calls = self._cache.get_calls(caller.file)
        if calls is None:
            return CallEdges([])
        numbers = {caller.number, *(number for _, number in self._find_constructors(caller))}
        found: dict[tuple[int, int], CallEdge] = {}
        unresolved: dict[str, None] = {}
        for one in calls.references:
            if one.enclosing_definition not in numbers:
                continue
            self._raise_if_cancelled()
            targets = self._resolver.resolve(one, calls)
            if not targets:
                unresolved[one.name] = None
            for placed, certainty in targets:
                _add_call(found, CallEdge(placed.file, placed.path, placed, certainty), one.line)
        return CallEdges(_sort_by_certainty(found.values()), 0, list(unresolved))

    def _add_caller(
        self,
        reference: CallReference,
        calls: FileCalls,
        wanted: set[tuple[int, int]],
        found: dict[tuple[int, int], CallEdge],
    ) -> None:
        targets = self._resolver.resolve(reference, calls)
        sure = [each.certainty for each in targets if each.symbol.key in wanted]
        if sure:
            placed = self._cache.get_definition(calls.file, reference.enclosing_definition)
            _add_call(found, CallEdge(calls.file, calls.path, placed, max(sure)), reference.line)

    def _find_constructed_class(self, target: LocatedDefinition) -> set[tuple[int, int]]:
        """Return the class that a constructor belongs to."""
        if not _is_constructor(target):
            return set()
        same = self._cache.find_in_file(target.file, target.class_name)
        return {one.key for one in same if one.is_class and one.qualified_name == target.owner}

    def _find_constructors(self, owner: LocatedDefinition) -> set[tuple[int, int]]:
        if not owner.is_class:
            return set()
        names = _list_constructor_names(owner.language, owner.name)
        found = (one for name in names for one in self._cache.find_in_file(owner.file, name))
        return {one.key for one in found if one.owner == owner.qualified_name}

    def _raise_if_cancelled(self) -> None:
        if self._cancel.is_cancelled:
            raise Cancelled("the question about calls was stopped")


def _add_call(found: dict[tuple[int, int], CallEdge], fresh: CallEdge, line: int) -> None:
    """Add a call to the edge with the same other end, or as a new edge."""
    edge = found.setdefault(fresh.key, fresh)
    edge.certainty = max(edge.certainty, fresh.certainty)
    edge.lines.append(line)


def _list_constructor_names(language: str, class_name: str) -> set[str]:
    names = LANGUAGES[language].constructors
    return {class_name if name == NAMED_AS_CLASS else name for name in names}


def _is_constructor(target: LocatedDefinition) -> bool:
    names = _list_constructor_names(target.language, target.class_name)
    return target.kind == "method" and target.name in names


def _find_references(calls: FileCalls, name: str) -> Iterable[CallReference]:
    """Return the calls of a name in a file, also under the names it is imported as."""
    names = {name, *(each.alias for each in calls.imports if each.name == name)}
    return (
        one
        for one in calls.references
        if one.name in names
        or (one.name == "new" and one.receiver_text.rpartition(".")[2] in names)
    )


def _sort_by_distance(target: LocatedDefinition, files: list[tuple[int, str, str]]) -> list[int]:
    """Return the files of the target's language family, the nearest to its folder first."""
    family, folders = get_language_family(target.language), target.path.split("/")

    def count_common_folders(path: str) -> int:
        common = 0
        for one, other in zip(folders, path.split("/"), strict=False):
            if one != other:
                break
            common += 1
        return common

    same = [
        (-count_common_folders(path), path, file)
        for file, path, language in files
        if get_language_family(language) == family
    ]
    return [file for _, _, file in sorted(same)]


def _sort_by_certainty(edges: Iterable[CallEdge]) -> list[CallEdge]:
    return sorted(edges, key=lambda edge: (-edge.certainty, edge.path, edge.lines[:1]))
