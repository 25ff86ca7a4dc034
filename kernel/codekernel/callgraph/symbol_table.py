"""Resolve names to definitions: imports, re-exports, members, bases and overrides of classes."""

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

from codekernel.callgraph.fact_cache import MODULE_RESOLVERS, FactCache, is_in_module
from codekernel.callgraph.languages import LANGUAGES
from codekernel.domain.call_graph import ImportBinding
from codekernel.storage.catalog.call_store import FileCalls, LocatedDefinition

# Imports of imports, and bases of bases.
MAX_LOOKUP_DEPTH = 12

# Languages in which a name means the same in every file, unless a file says otherwise.
_GLOBAL_NAMESPACE_FAMILIES = frozenset({"c", "csharp", "swift", "ruby", "php"})


class Certainty(IntEnum):
    """How sure it is that a call means a definition."""

    POSSIBLE = 1
    LIKELY = 2
    CERTAIN = 3


class ResolvedTarget(NamedTuple):
    """A definition that a name may stand for."""

    symbol: LocatedDefinition
    certainty: Certainty


def with_certainty(
    symbols: Iterable[LocatedDefinition], certainty: Certainty
) -> list[ResolvedTarget]:
    """Return the definitions as targets, all with the same certainty."""
    return [ResolvedTarget(symbol, certainty) for symbol in symbols]


class SymbolTable:
    """Looks names up; a name may stand for several definitions."""

    def __init__(self, cache: FactCache) -> None:
        self._cache = cache

    def resolve_path(self, path: str, calls: FileCalls, inside: str = "") -> list[ResolvedTarget]:
        """Return what a dotted path stands for; ``inside`` is the scope of the place."""
        head, _, rest = path.partition(".")
        found = self._resolve_local(head, calls, inside)
        if not found:
            imported = self._resolve_imported(path, calls)
            if imported is not None:
                return imported
            found = self._resolve_wildcard_imports(head, calls, MAX_LOOKUP_DEPTH // 2)
            found = found or self._resolve_in_package(head, calls)
        for name in filter(None, rest.split(".")):
            found = [
                ResolvedTarget(member.symbol, min(one.certainty, member.certainty))
                for one in found
                if one.symbol.is_class
                for member in self.find_members(one.symbol, name)
            ]
        return found

    def find_members(
        self, owner: LocatedDefinition, name: str, depth: int = 0
    ) -> list[ResolvedTarget]:
        """Return the methods of a class with this name: its own, or else those of its bases."""
        same = self._cache.find_definitions(name, owner.name)
        if own := [one for one in same if self._is_member_of(one, owner)]:
            return with_certainty(own, Certainty.CERTAIN)
        for base in self.find_bases(owner) if depth < MAX_LOOKUP_DEPTH else ():
            if base.key != owner.key and (found := self.find_members(base, name, depth + 1)):
                return found
        return []

    def find_bases(self, owner: LocatedDefinition) -> list[LocatedDefinition]:
        """Return the classes that a class extends, as far as they are in the repository."""
        return [
            one.symbol
            for part in self._find_class_parts(owner)
            if (calls := self._cache.get_calls(part.file))
            for base in part.bases
            for one in self.resolve_path(base, calls)
            if one.symbol.is_class
        ]

    def find_overrides(self, owner: LocatedDefinition, name: str) -> list[LocatedDefinition]:
        """Return the methods with this name of the classes that extend a class."""
        found: dict[tuple[int, int], LocatedDefinition] = {}
        waiting, seen = [owner.name], {owner.name}
        for _ in range(MAX_LOOKUP_DEPTH):
            classes = [one for base in waiting for one in self._cache.find_subclasses(base)]
            waiting = [one.name for one in classes if one.name not in seen]
            seen.update(waiting)
            for one in classes:
                for method in self.find_in_family(name, owner.language, one.name):
                    if self._is_member_of(method, one):
                        found[method.key] = method
        return list(found.values())

    def _find_class_parts(self, owner: LocatedDefinition) -> list[LocatedDefinition]:
        """Return a class and its other parts: impl blocks, extensions, partial classes."""
        if get_language_family(owner.language) in MODULE_RESOLVERS:
            return [owner]
        same = self.find_in_family(owner.name, owner.language)
        others = (one for one in same if one.is_class and one.bases and one.key != owner.key)
        return [owner, *others]

    def _is_member_of(self, method: LocatedDefinition, owner: LocatedDefinition) -> bool:
        """Whether a method of a class with this name is of this class."""
        if method.file == owner.file:
            return method.owner == owner.qualified_name or method.owner.endswith(owner.name)
        # A class of Python, JavaScript or Java lies in one file.
        family = get_language_family(owner.language)
        return get_language_family(method.language) == family not in {*MODULE_RESOLVERS, "jvm"}

    def _resolve_local(self, name: str, calls: FileCalls, inside: str) -> list[ResolvedTarget]:
        """Return what the file itself defines, the innermost scope first."""
        candidates = self._cache.find_in_file(calls.file, name)
        if not candidates:
            return []
        scopes = inside.split(".") if inside else []
        for depth in range(len(scopes), -1, -1):
            around = ".".join(scopes[:depth])
            here = [one for one in candidates if one.owner == around]
            if found := [one for one in here if one.kind != "method" or not around]:
                return with_certainty(found, Certainty.CERTAIN)
        return with_certainty([one for one in candidates if one.is_class], Certainty.CERTAIN)

    def _resolve_imported(self, path: str, calls: FileCalls) -> list[ResolvedTarget] | None:
        """Resolve through the imports: None if none binds the name, [] if it is third-party."""
        # The beginnings of the path, of which an import may bind one.
        ways = {path[:end] for end in range(len(path)) if path[end] == "."} | {path}
        ways.discard("")
        binding = [each for each in calls.imports if each.alias in ways and each.module]
        if not binding:
            return None
        best = max(binding, key=lambda each: len(each.alias))
        return self._resolve_through_import(best, path[len(best.alias) + 1 :], calls)

    def _resolve_wildcard_imports(
        self, name: str, calls: FileCalls, depth: int
    ) -> list[ResolvedTarget]:
        """Return what the file imports without naming it."""
        return [
            one
            for each in calls.imports
            if each.name == "*"
            for one in self._resolve_export(each.module, name, calls, depth)
        ]

    def _resolve_through_import(
        self, each: ImportBinding, rest: str, calls: FileCalls
    ) -> list[ResolvedTarget]:
        names = [name for name in (each.name, *rest.split(".")) if name]
        module = each.module
        found = self._resolve_export(module, names[0], calls, 0) if names else []
        if not found and names and each.name and get_language_family(calls.language) == "python":
            # What a package gives may be a module of it.
            joined = f"{module}{'' if module.endswith('.') else '.'}{names[0]}"
            if len(names) > 1:
                found, names = self._resolve_export(joined, names[1], calls, 0), names[1:]
        if not found and each.name == "default" and len(names) > 1:
            # An object of functions: what it is made of lies in the same file.
            found, names = self._resolve_export(module, names[1], calls, 0), names[1:]
        if not found and not each.name and len(names) > 1:
            # The import names a package, and the call a module in it.
            deeper = ".".join((module, *names[:-1]))
            found, names = self._resolve_export(deeper, names[-1], calls, 0), names[-1:]
        for name in names[1:]:
            found = [
                member
                for one in found
                if one.symbol.is_class
                for member in self.find_members(one.symbol, name)
            ]
        return found

    def _resolve_export(
        self, module: str, name: str, calls: FileCalls, depth: int
    ) -> list[ResolvedTarget]:
        """Return what a module exports under a name."""
        family = get_language_family(calls.language)
        if family not in MODULE_RESOLVERS:
            is_exact = family == "jvm"
            return _grade_certainty(
                one
                for one in self._find_top_level(name, calls)
                if is_in_module(one.path, one.owner, module, is_exact=is_exact)
            )
        if depth > MAX_LOOKUP_DEPTH:
            return []
        for file in MODULE_RESOLVERS[family](self._cache, module, calls.path):
            if found := self._resolve_file_export(file, name, depth):
                return found
        return []

    def _resolve_file_export(self, file: int, name: str, depth: int) -> list[ResolvedTarget]:
        """Return what a file defines at its top level or re-exports."""
        own = [one for one in self._cache.find_in_file(file, name) if not one.owner]
        if own:
            return with_certainty(own, Certainty.CERTAIN)
        calls = self._cache.get_calls(file)
        if calls is None:
            return []
        for each in calls.imports:
            if each.alias != name or not each.name:
                continue
            if not each.module:
                is_too_deep = depth >= MAX_LOOKUP_DEPTH
                return [] if is_too_deep else self._resolve_file_export(file, each.name, depth + 1)
            if found := self._resolve_export(each.module, each.name, calls, depth + 1):
                return found
        found = self._resolve_wildcard_imports(name, calls, depth + 1)
        return found or (self._resolve_default_export(calls) if name == "default" else [])

    def _resolve_default_export(self, calls: FileCalls) -> list[ResolvedTarget]:
        """Return the definition named as the file, which is the default export as a rule."""
        stem = calls.path.rpartition("/")[2].split(".", 1)[0]
        for name in (stem, stem[:1].upper() + stem[1:]):
            own = [one for one in self._cache.find_in_file(calls.file, name) if not one.owner]
            if own:
                return with_certainty(own, Certainty.LIKELY)
        return []

    def _resolve_in_package(self, name: str, calls: FileCalls) -> list[ResolvedTarget]:
        """Return what needs no import: the same folder in Go and Java, everything in C."""
        family = get_language_family(calls.language)
        if family in MODULE_RESOLVERS:
            return []
        same = self._find_top_level(name, calls)
        folder = calls.path.rpartition("/")[0]
        beside = [one for one in same if one.path.rpartition("/")[0] == folder]
        if beside:
            return _grade_certainty(beside, Certainty.CERTAIN)
        if family in _GLOBAL_NAMESPACE_FAMILIES:
            return _grade_certainty(same)
        # Rust: a name without a path is defined or used in its file; Java may nest classes.
        return with_certainty(same, Certainty.POSSIBLE) if len(same) == 1 else []

    def find_in_family(
        self, name: str, language: str, of_class: str | None = None
    ) -> list[LocatedDefinition]:
        """Return the definitions of a name that code in this language can call."""
        family = get_language_family(language)
        same = self._cache.find_definitions(name, of_class)
        return [one for one in same if get_language_family(one.language) == family]

    def _find_top_level(self, name: str, calls: FileCalls) -> list[LocatedDefinition]:
        """Return the definitions of a name that need no object."""
        return [one for one in self.find_in_family(name, calls.language) if one.kind != "method"]


def get_language_family(language: str) -> str:
    """Return the name shared by the languages whose definitions can call each other."""
    spec = LANGUAGES.get(language)
    return spec.family if spec else language


def _grade_certainty(
    found: Iterable[LocatedDefinition], single_certainty: Certainty = Certainty.LIKELY
) -> list[ResolvedTarget]:
    """Grade candidates: several are only possible, unless they are parts of one class."""
    several = list(found)
    names = {one.qualified_name for one in several}
    is_one_class = len(names) == 1 and all(one.is_class for one in several)
    is_single = len(several) == 1 or is_one_class
    return with_certainty(several, single_certainty if is_single else Certainty.POSSIBLE)
