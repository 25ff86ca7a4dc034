"""What a name stands for in a file: definitions, looked for outwards and through imports."""

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

from kernel.callgraph.memory import Memory
from kernel.callgraph.modules import javascript_files, lies_in, python_files
from kernel.callgraph.speeches import SPEECHES
from kernel.domain.call_facts import CLASS_KINDS, Import
from kernel.storage.call_reader import CallsOfFile, Placed

# Imports of imports, and bases of bases.
DEEPEST = 12
# Languages in which a name means the same in every file, unless a file says otherwise.
_GLOBAL = frozenset({"c", "csharp", "swift", "ruby", "php"})
BY_FILES = {"python": python_files, "javascript": javascript_files}


class Certainty(IntEnum):
    """How sure it is that a call means a definition."""

    POSSIBLE = 1
    LIKELY = 2
    CERTAIN = 3


class Found(NamedTuple):
    """A definition that a name may stand for."""

    placed: Placed
    certainty: Certainty


class Symbols:
    """Looks names up; every answer is a list, because a name may stand for several things."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def named(self, path: str, calls: CallsOfFile, inside: str = "") -> list[Found]:
        """What a dotted path stands for at a place; ``inside`` are the names around it."""
        head, _, rest = path.partition(".")
        found = self._local(head, calls, inside)
        if not found:
            imported = self._imported(path, calls)
            if imported is not None:
                return imported
            found = self._starred(head, calls) or self._of_package(head, calls)
        for name in filter(None, rest.split(".")):
            found = [
                Found(member.placed, min(one.certainty, member.certainty))
                for one in found
                if one.placed.one.kind in CLASS_KINDS
                for member in self.members(one.placed, name)
            ]
        return found

    def members(self, owner: Placed, name: str, depth: int = 0) -> list[Found]:
        """The methods of a class with this name: its own, or else those of its bases."""
        own = [one for one in self._memory.named(name, owner.one.name) if self._belongs(one, owner)]
        if own:
            return [Found(one, Certainty.CERTAIN) for one in own]
        if depth >= DEEPEST:
            return []
        for base in self.bases(owner):
            if base.key != owner.key and (found := self.members(base, name, depth + 1)):
                return found
        return []

    def bases(self, owner: Placed) -> list[Placed]:
        """The classes that a class extends, as far as they are in the repository."""
        found: list[Placed] = []
        for part in self._parts(owner):
            calls = self._memory.calls_of(part.file)
            for base in part.one.bases if calls else ():
                found += [
                    one.placed
                    for one in self.named(base, calls)  # type: ignore[arg-type]
                    if one.placed.one.kind in CLASS_KINDS
                ]
        return found

    def overriding(self, owner: Placed, name: str) -> list[Placed]:
        """The methods with this name of the classes that extend a class."""
        found: dict[tuple[int, int], Placed] = {}
        waiting, seen = [owner.one.name], {owner.one.name}
        for _ in range(DEEPEST):
            if not waiting:
                break
            classes = [one for base in waiting for one in self._memory.extending(base)]
            waiting = [one.one.name for one in classes if one.one.name not in seen]
            seen.update(waiting)
            for one in classes:
                for method in self._memory.named(name, one.one.name):
                    if self._belongs(method, one) and family(method) == family(owner):
                        found[method.key] = method
        return list(found.values())

    def _parts(self, owner: Placed) -> list[Placed]:
        """A class, and what adds to it elsewhere: impl blocks, extensions, partial classes."""
        others = [
            one
            for one in self._memory.named(owner.one.name)
            if one.one.kind in CLASS_KINDS and one.one.bases and family(one) == family(owner)
            and family(one) not in BY_FILES
        ]  # fmt: skip
        return [owner, *(one for one in others if one.key != owner.key)]

    def _belongs(self, method: Placed, owner: Placed) -> bool:
        """Whether a method of a class with this name is of this class."""
        if method.file == owner.file:
            return method.one.owner == owner.one.qualified or method.one.owner.endswith(
                owner.one.name
            )
        # A class of Python, JavaScript or Java lies in one file.
        return family(method) == family(owner) and family(owner) not in {*BY_FILES, "jvm"}

    def _local(self, name: str, calls: CallsOfFile, inside: str) -> list[Found]:
        """What the file itself defines, the innermost around the place first."""
        candidates = self._memory.in_file(calls.file, name)
        around = inside
        while candidates:
            here = [
                one for one in candidates
                if one.one.owner == around and (one.one.kind != "method" or not around)
            ]  # fmt: skip
            if here:
                return [Found(one, Certainty.CERTAIN) for one in here]
            if not around:
                break
            around = around.rpartition(".")[0]
        loose = [one for one in candidates if one.one.kind in CLASS_KINDS]
        return [Found(one, Certainty.CERTAIN) for one in loose]

    def _imported(self, path: str, calls: CallsOfFile) -> list[Found] | None:
        """What an import says; none if no import speaks of it, nothing if it is from elsewhere."""
        best: Import | None = None
        for each in calls.imports:
            if (
                each.alias
                and each.module
                and (path == each.alias or path.startswith(f"{each.alias}."))
            ):
                best = each if best is None or len(each.alias) > len(best.alias) else best
        if best is not None:
            rest = path[len(best.alias) + 1 :]
            return self._through(best, rest, calls)
        return None

    def _starred(self, name: str, calls: CallsOfFile) -> list[Found]:
        """What the file imports without naming it."""
        return [
            one
            for each in calls.imports
            if each.name == "*"
            for one in self._exported(each.module, name, calls, DEEPEST // 2)
        ]

    def _through(self, each: Import, rest: str, calls: CallsOfFile) -> list[Found]:
        names = [name for name in (each.name, *rest.split(".")) if name]
        module = each.module
        found = self._exported(module, names[0], calls, 0) if names else []
        if not found and names and each.name and family_of(calls.language) == "python":
            # What a package gives may be a module of it.
            joined = f"{module}{'' if module.endswith('.') else '.'}{names[0]}"
            if len(names) > 1:
                found, names = self._exported(joined, names[1], calls, 0), names[1:]
        if not found and each.name == "default" and len(names) > 1:
            # An object of functions: what it is made of lies in the same file.
            found, names = self._exported(module, names[1], calls, 0), names[1:]
        if not found and not each.name and len(names) > 1:
            # The import names a package, and the call a module in it.
            deeper = ".".join((module, *names[:-1]))
            found, names = self._exported(deeper, names[-1], calls, 0), names[-1:]
        for name in names[1:]:
            found = [
                member
                for one in found
                if one.placed.one.kind in CLASS_KINDS
                for member in self.members(one.placed, name)
            ]
        return found

    def _exported(self, module: str, name: str, calls: CallsOfFile, depth: int) -> list[Found]:
        """What a module offers under a name."""
        spoken = family_of(calls.language)
        if spoken not in BY_FILES:
            inside = [
                one
                for one in self._memory.named(name)
                if family(one) == spoken
                and _top(one)
                and lies_in(one.path, one.one.owner, module, exactly=spoken == "jvm")
            ]
            return _graded(inside)
        if depth > DEEPEST:
            return []
        for file in BY_FILES[spoken](self._memory, module, calls.path):
            if found := self._offered(file, name, depth):
                return found
        return []

    def _offered(self, file: int, name: str, depth: int) -> list[Found]:
        """What a file defines at its top, or passes on from elsewhere."""
        own = [one for one in self._memory.in_file(file, name) if not one.one.owner]
        if own:
            return [Found(one, Certainty.CERTAIN) for one in own]
        calls = self._memory.calls_of(file)
        if calls is None:
            return []
        for each in calls.imports:
            if each.alias == name and each.name and not each.module:
                return self._offered(file, each.name, depth + 1) if depth < DEEPEST else []
            if each.alias == name and each.name:
                found = self._exported(each.module, each.name, calls, depth + 1)
                if found:
                    return found
        starred = [
            one
            for each in calls.imports
            if each.name == "*"
            for one in self._exported(each.module, name, calls, depth + 1)
        ]
        return starred or (self._default(calls) if name == "default" else [])

    def _default(self, calls: CallsOfFile) -> list[Found]:
        """What a file exports by default is, as a rule, called as the file is."""
        stem = calls.path.rpartition("/")[2].split(".", 1)[0]
        for name in (stem, stem[:1].upper() + stem[1:]):
            own = [one for one in self._memory.in_file(calls.file, name) if not one.one.owner]
            if own:
                return [Found(one, Certainty.LIKELY) for one in own]
        return []

    def _of_package(self, name: str, calls: CallsOfFile) -> list[Found]:
        """What needs no import: the same folder in Go and Java, everything in C."""
        spoken = family_of(calls.language)
        if spoken in BY_FILES:
            return []
        same = [one for one in self._memory.named(name) if family(one) == spoken and _top(one)]
        folder = calls.path.rpartition("/")[0]
        beside = [one for one in same if one.path.rpartition("/")[0] == folder]
        if beside:
            return _graded(beside, Certainty.CERTAIN)
        if spoken in _GLOBAL:
            return _graded(same)
        # Rust: a name without a path is defined or used in its file; Java may nest classes.
        return [Found(one, Certainty.POSSIBLE) for one in same] if len(same) == 1 else []


def family_of(language: str) -> str:
    """The languages whose definitions can call each other have one name."""
    speech = SPEECHES.get(language)
    return speech.family if speech else language


def family(placed: Placed) -> str:
    """The family of the file a definition is in."""
    return family_of(placed.language)


def _top(placed: Placed) -> bool:
    """Whether something can be meant without an object: no method, or a class's or module's."""
    return placed.one.kind != "method"


def _graded(found: Iterable[Placed], one_is: Certainty = Certainty.LIKELY) -> list[Found]:
    """Of several none is more than possible; parts of one class are one."""
    several = list(found)
    names = {one.one.qualified for one in several}
    certainty = one_is if len(several) == 1 or _one_class(several, names) else Certainty.POSSIBLE
    return [Found(one, certainty) for one in several]


def _one_class(several: list[Placed], names: set[str]) -> bool:
    return len(names) == 1 and all(one.one.kind in CLASS_KINDS for one in several)
