"""Resolve a call to the definitions it may reach, each with a certainty."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from codekernel.callgraph.definitions import is_arity_match
from codekernel.callgraph.fact_cache import MODULE_RESOLVERS, FactCache
from codekernel.callgraph.languages import LANGUAGES
from codekernel.callgraph.symbol_table import (
    Certainty,
    ResolvedTarget,
    SymbolTable,
    get_language_family,
    with_certainty,
)
from codekernel.domain.call_graph import CallReference, ReceiverKind
from codekernel.storage.catalog.call_store import FileCalls, LocatedDefinition

# Methods of one name, of which an unknown object may have any; more say nothing.
MAX_GUESSES = 8


class _CallSite(NamedTuple):
    """A call, the file it is in, and the definition around it."""

    reference: CallReference
    calls: FileCalls
    within: LocatedDefinition | None

    @property
    def scope(self) -> str:
        """The qualified name of the definition around it."""
        return self.within.qualified_name if self.within else ""


class CallResolver:
    """Resolves references against the facts of one snapshot."""

    def __init__(self, cache: FactCache) -> None:
        self._cache = cache
        self._symbols = SymbolTable(cache)
        # Of anything else, nothing is in the index.
        ways: dict[ReceiverKind, Callable[[_CallSite], list[ResolvedTarget]]] = {
            ReceiverKind.NOTHING: self._resolve_bare_name,
            ReceiverKind.SELF: self._resolve_self_call,
            ReceiverKind.SUPER: self._resolve_self_call,
            ReceiverKind.TYPE: self._resolve_on_type,
            ReceiverKind.CALL_RESULT: self._resolve_on_return_type,
            ReceiverKind.NAME: self._resolve_on_name,
            ReceiverKind.VALUE: self._guess_by_name,
            ReceiverKind.NEW: self._resolve_new,
        }
        # By number: an enum is slow to hash, which took 5 % of an answer.
        self._ways = [ways.get(kind) for kind in ReceiverKind]

    def resolve(self, reference: CallReference, calls: FileCalls) -> list[ResolvedTarget]:
        """Return what a reference in a file may call."""
        within = self._cache.get_definition(calls.file, reference.enclosing_definition)
        way = self._ways[reference.receiver_kind]
        found = way(_CallSite(reference, calls, within)) if way else []
        return _filter_by_arity(
            reference.argument_count, list({each.symbol.key: each for each in found}.values())
        )

    def _resolve_new(self, site: _CallSite) -> list[ResolvedTarget]:
        reference = site.reference
        name = "" if reference.name == "new" else reference.name  # new is Ruby's
        path = ".".join(filter(None, (reference.receiver_text, name)))
        found = self._symbols.resolve_path(path, site.calls, site.scope)
        return _filter_classes(found) or found

    def _resolve_on_type(self, site: _CallSite) -> list[ResolvedTarget]:
        path = site.reference.receiver_text
        if types := self._symbols.resolve_path(path, site.calls, site.scope):
            return self._resolve_on_types(site.reference, types)
        return self._resolve_by_class_name(site)

    def _resolve_bare_name(self, site: _CallSite) -> list[ResolvedTarget]:
        reference, calls, within = site
        spec = LANGUAGES[calls.language]
        if spec.has_implicit_self and within is not None:
            for owner in self._find_enclosing_classes(site):
                if own := self._symbols.find_members(owner, reference.name):
                    return own
            own_class = replace(reference, receiver_text=within.class_name)
            if unseen := self._resolve_by_class_name(site._replace(reference=own_class)):
                return unseen
        found = self._symbols.resolve_path(reference.name, calls, site.scope)
        if not spec.has_constructor_calls:
            found = [each for each in found if not each.symbol.is_class] or found
        return found

    def _resolve_self_call(self, site: _CallSite) -> list[ResolvedTarget]:
        reference = site.reference
        name, is_self = reference.name, reference.receiver_kind == ReceiverKind.SELF
        for owner in self._find_enclosing_classes(site)[:1]:
            if is_self:
                found = self._symbols.find_members(owner, name)
                possible = self._symbols.find_overrides(owner, name)
                return [*found, *_grade_overrides(possible, found)]
            for base in self._symbols.find_bases(owner):
                if name in {"super", "base", "this", "__init__"}:  # the constructor
                    return [ResolvedTarget(base, Certainty.CERTAIN)]
                if found := self._symbols.find_members(base, name):
                    return found
        return self._resolve_by_class_name(site) if is_self else []

    def _resolve_by_class_name(self, site: _CallSite) -> list[ResolvedTarget]:
        """Return the methods of a class hidden by a macro, or in a file that cannot be parsed."""
        reference, calls, _ = site
        family = get_language_family(calls.language)
        # There an import says where the class is, or that it is third-party.
        if family in MODULE_RESOLVERS or family == "jvm" or not reference.receiver_text:
            return []
        class_name = reference.receiver_text.rpartition(".")[2]
        same = self._symbols.find_in_family(reference.name, calls.language, class_name)
        return with_certainty(same, Certainty.LIKELY)

    def _resolve_on_types(
        self, reference: CallReference, types: list[ResolvedTarget]
    ) -> list[ResolvedTarget]:
        found: list[ResolvedTarget] = []
        for each in _filter_classes(types):
            own = self._symbols.find_members(each.symbol, reference.name)
            found += _cap_certainty(own, each.certainty)
            overrides = self._symbols.find_overrides(each.symbol, reference.name)
            found += _cap_certainty(_grade_overrides(overrides, found), each.certainty)
        return found

    def _resolve_on_return_type(self, site: _CallSite) -> list[ResolvedTarget]:
        """Return the methods of the object a call returned: an instance, or the declared type."""
        reference, calls, within = site
        makers = self._symbols.resolve_path(reference.receiver_text, calls, site.scope)
        head, _, method = reference.receiver_text.rpartition(".")
        if head in LANGUAGES[calls.language].self_names and within is not None:
            makers = [
                each
                for owner in self._find_enclosing_classes(site)[:1]
                for each in self._symbols.find_members(owner, method)
            ]
        elif not makers and head:
            return self._guess_by_name(site)
        found: list[ResolvedTarget] = []
        for maker in makers:
            if maker.symbol.is_class:
                found += self._resolve_on_types(reference, [maker])
            elif not (returned := maker.symbol.return_type):
                found += self._guess_by_name(site)
            elif elsewhere := self._cache.get_calls(maker.symbol.file):
                types = self._symbols.resolve_path(returned, elsewhere, maker.symbol.owner)
                found += self._resolve_on_types(reference, types)
        return found

    def _resolve_on_name(self, site: _CallSite) -> list[ResolvedTarget]:
        reference, calls, _ = site
        receiver, scope = reference.receiver_text, site.scope
        if found := self._symbols.resolve_path(f"{receiver}.{reference.name}", calls, scope):
            return found
        if owners := self._symbols.resolve_path(receiver, calls, scope):
            return self._resolve_on_types(reference, owners)
        head = receiver.partition(".")[0]
        if any(each.alias == head for each in calls.imports):
            return []  # it is third-party
        # In these languages nothing of another file is meant without an import.
        if get_language_family(calls.language) not in MODULE_RESOLVERS:
            owner = receiver.rpartition(".")[2]
            if scoped := self._symbols.find_in_family(reference.name, calls.language, owner):
                return with_certainty(scoped, Certainty.LIKELY)
        return [] if head[:1].isupper() else self._guess_by_name(site)

    def _guess_by_name(self, site: _CallSite) -> list[ResolvedTarget]:
        """Return the methods of this name, where nothing is known about the receiver."""
        reference, calls, _ = site
        same = [
            each
            for each in self._symbols.find_in_family(reference.name, calls.language)
            if each.kind == "method" and is_arity_match(reference.argument_count, each)
        ]
        if not same or len(same) > MAX_GUESSES or reference.name.startswith("__"):
            return []
        is_one_class = len({each.class_name for each in same}) == 1
        is_likely = is_one_class and reference.name not in LANGUAGES[calls.language].common_methods
        return with_certainty(same, Certainty.LIKELY if is_likely else Certainty.POSSIBLE)

    def _find_enclosing_classes(self, site: _CallSite) -> list[LocatedDefinition]:
        """Return the classes a call is in, innermost first."""
        names = site.scope.split(".") if site.within else []
        found = []
        for end in range(len(names), 0, -1):
            owner, name = ".".join(names[: end - 1]), names[end - 1]
            here = self._cache.find_in_file(site.calls.file, name)
            classes = [one for one in here if one.is_class and one.owner == owner]
            # A::f() {} outside of its class, or a method of Go.
            if not classes and end < len(names) and site.within and site.within.class_name == name:
                elsewhere = self._symbols.resolve_path(name, site.calls)
                classes = [each.symbol for each in _filter_classes(elsewhere)]
            found += classes
        return found


def _filter_classes(found: list[ResolvedTarget]) -> list[ResolvedTarget]:
    return [each for each in found if each.symbol.is_class]


def _grade_overrides(
    methods: list[LocatedDefinition], found: list[ResolvedTarget]
) -> list[ResolvedTarget]:
    """Grade methods that override what was found, or the only ones if nothing was."""
    certainty = Certainty.POSSIBLE if found else Certainty.LIKELY
    certainty = Certainty.POSSIBLE if len(methods) > 1 else certainty
    return with_certainty(methods, certainty)


def _cap_certainty(found: list[ResolvedTarget], limit: Certainty) -> list[ResolvedTarget]:
    return [ResolvedTarget(each.symbol, min(each.certainty, limit)) for each in found]


def _filter_by_arity(arguments: int, found: list[ResolvedTarget]) -> list[ResolvedTarget]:
    """Return the overloads that take so many arguments, or all with less certainty."""
    fitting = [
        each for each in found if each.symbol.is_class or is_arity_match(arguments, each.symbol)
    ]
    return fitting or _cap_certainty(found, Certainty.LIKELY)
