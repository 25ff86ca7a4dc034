"""One step in either direction: the callers of a definition, and what it calls."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from kernel.callgraph.memory import Memory
from kernel.callgraph.resolving import Resolver
from kernel.callgraph.speeches import SPEECHES
from kernel.callgraph.symbols import Certainty, family, family_of
from kernel.domain.call_facts import CLASS_KINDS, NOWHERE, Reference
from kernel.domain.cancel import CancelToken
from kernel.errors import Cancelled
from kernel.storage.call_reader import CallsOfFile, Placed

# Of a name that half of all files call, so many files are looked at, the nearest first.
MOST_FILES = 200


@dataclass(slots=True)
class Edge:
    """Calls between two definitions; a caller of None is a file's code outside of all."""

    file: int
    path: str
    placed: Placed | None
    certainty: Certainty
    lines: list[int] = field(default_factory=list)

    @property
    def key(self) -> tuple[int, int]:
        """What tells the other end apart."""
        return self.placed.key if self.placed else (self.file, NOWHERE)


@dataclass(slots=True)
class Edges:
    """The edges at one definition, the surest first."""

    edges: list[Edge]
    unread: int = 0
    outside: list[str] = field(default_factory=list)


class Calls:
    """Finds edges; nothing is remembered but what the memory does."""

    def __init__(self, memory: Memory, cancel: CancelToken) -> None:
        self._memory = memory
        self._resolver = Resolver(memory)
        self._cancel = cancel

    def callers(self, target: Placed) -> Edges:
        """Who calls a definition; whoever makes an object calls its constructor."""
        wanted = {target.key, *self._made_with(target)}
        found: dict[tuple[int, int], Edge] = {}
        unread = 0
        for name in self._called_as(target):
            files = _nearest(target, self._memory.reader.mentioning(name))
            unread += max(0, len(files) - MOST_FILES)
            for file in files[:MOST_FILES]:
                self._check()
                calls = self._memory.calls_of(file)
                for one in _calls_of(calls, name) if calls else ():
                    self._note_caller(one, calls, wanted, found)  # type: ignore[arg-type]
        return Edges(_surest_first(found.values()), unread)

    def callees(self, caller: Placed) -> Edges:
        """What a definition calls; of a class, what making one calls."""
        calls = self._memory.calls_of(caller.file)
        numbers = {caller.one.number, *(number for _, number in self._constructors(caller))}
        found: dict[tuple[int, int], Edge] = {}
        outside: dict[str, None] = {}
        for one in calls.references if calls else ():
            if one.within not in numbers or calls is None:
                continue
            self._check()
            targets = self._resolver.targets(one, calls)
            if not targets:
                outside[one.name] = None
            for placed, certainty in targets:
                edge = found.setdefault(
                    placed.key, Edge(placed.file, placed.path, placed, certainty)
                )
                edge.certainty = max(edge.certainty, certainty)
                edge.lines.append(one.line)
        return Edges(_surest_first(found.values()), 0, list(outside))

    def _note_caller(
        self,
        one: Reference,
        calls: CallsOfFile,
        wanted: set[tuple[int, int]],
        found: dict[tuple[int, int], Edge],
    ) -> None:
        sure = [each.certainty for each in self._resolver.targets(one, calls)
                if each.placed.key in wanted]  # fmt: skip
        if not sure:
            return
        placed = self._memory.at(calls.file, one.within)
        fresh = Edge(calls.file, calls.path, placed, max(sure))
        edge = found.setdefault(fresh.key, fresh)
        edge.certainty = max(edge.certainty, *sure)
        edge.lines.append(one.line)

    def _called_as(self, target: Placed) -> list[str]:
        names = [target.one.name]
        if self._is_constructor(target):
            names.append(target.one.of_class)
        return list(dict.fromkeys(names))

    def _made_with(self, target: Placed) -> set[tuple[int, int]]:
        """The class whose objects a constructor makes."""
        if not self._is_constructor(target):
            return set()
        same = self._memory.in_file(target.file, target.one.of_class)
        return {
            one.key
            for one in same
            if one.one.kind in CLASS_KINDS and one.one.qualified == target.one.owner
        }

    def _constructors(self, owner: Placed) -> set[tuple[int, int]]:
        if owner.one.kind not in CLASS_KINDS:
            return set()
        names = SPEECHES[owner.language].constructors
        found = (
            one
            for name in names
            for one in self._memory.in_file(owner.file, name or owner.one.name)
        )
        return {one.key for one in found if one.one.owner == owner.one.qualified}

    def _is_constructor(self, target: Placed) -> bool:
        names = SPEECHES[target.language].constructors
        one = target.one
        return one.kind == "method" and (
            one.name in names or ("" in names and one.name == one.of_class)
        )

    def _check(self) -> None:
        if self._cancel.cancelled:
            raise Cancelled("the question about calls was stopped")


def _calls_of(calls: CallsOfFile, name: str) -> Iterable[Reference]:
    """The calls of a name in a file, by whatever name it is imported."""
    names = {name, *(each.alias for each in calls.imports if each.name == name)}
    return [one for one in calls.references if one.name in names or (
        one.name == "new" and one.text.rpartition(".")[2] in names)]  # fmt: skip


def _nearest(target: Placed, files: list[tuple[int, str, str]]) -> list[int]:
    """The files that could mean the target, those with the most folders in common first."""
    spoken, folders = family(target), target.path.split("/")

    def distance(path: str) -> int:
        common = 0
        for one, other in zip(folders, path.split("/"), strict=False):
            if one != other:
                break
            common += 1
        return -common

    same = [(distance(path), path, file) for file, path, language in files
            if family_of(language) == spoken]  # fmt: skip
    return [file for _, _, file in sorted(same)]


def _surest_first(edges: Iterable[Edge]) -> list[Edge]:
    return sorted(edges, key=lambda edge: (-edge.certainty, edge.path, edge.lines[:1]))
