"""Resolve a call to the definitions it may reach, each with a certainty."""

from dataclasses import replace

from codekernel.callgraph.definitions import is_arity_match
from codekernel.callgraph.fact_cache import FactCache
from codekernel.callgraph.languages import LANGUAGES
from codekernel.callgraph.module_resolver import MODULE_RESOLVERS
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


class CallResolver:
    """Resolves references against the facts of one snapshot."""

    def __init__(self, cache: FactCache) -> None:
        self._cache = cache
        self._symbols = SymbolTable(cache)

    def resolve(self, reference: CallReference, calls: FileCalls) -> list[ResolvedTarget]:
        """Return what a reference in a file may call."""
        within = self._cache.get_definition(calls.file, reference.enclosing_definition)
        found = self._resolve_candidates(reference, calls, within)
        return _filter_by_arity(
            reference.argument_count, list({each.symbol.key: each for each in found}.values())
        )

    def _resolve_candidates(  # noqa: C901, PLR0911 - one way for each kind of receiver
        self, reference: CallReference, calls: FileCalls, within: LocatedDefinition | None
    ) -> list[ResolvedTarget]:
        match reference.receiver_kind:
            case ReceiverKind.NOTHING:
                return self._resolve_bare_name(reference, calls, within)
            case ReceiverKind.NEW:
                if reference.name == "new":  # Ruby
                    path = reference.receiver_text
                else:
                    path = ".".join(filter(None, (reference.receiver_text, reference.name)))
                found = self._symbols.resolve_path(path, calls, _get_scope(within))
                return _filter_classes(found) or found
            case ReceiverKind.SELF | ReceiverKind.SUPER:
                return self._resolve_self_call(reference, calls, within)
            case ReceiverKind.TYPE:
                path, scope = reference.receiver_text, _get_scope(within)
                if types := self._symbols.resolve_path(path, calls, scope):
                    return self._resolve_on_types(reference, types)
                return self._resolve_by_class_name(reference, calls)
            case ReceiverKind.CALL_RESULT:
                return self._resolve_on_return_type(reference, calls, within)
            case ReceiverKind.NAME:
                return self._resolve_on_name(reference, calls, within)
            case ReceiverKind.VALUE:
                return self._guess_by_name(reference, calls)
            case _:
                return []

    def _resolve_bare_name(
        self, reference: CallReference, calls: FileCalls, within: LocatedDefinition | None
    ) -> list[ResolvedTarget]:
        spec = LANGUAGES[calls.language]
        inside = _get_scope(within)
        if spec.has_implicit_self and within is not None:
            for owner in self._find_enclosing_classes(calls, within):
                if own := self._symbols.find_members(owner, reference.name):
                    return own
            own_class = replace(reference, receiver_text=within.class_name)
            if unseen := self._resolve_by_class_name(own_class, calls):
                return unseen
        found = self._symbols.resolve_path(reference.name, calls, inside)
        if not spec.has_constructor_calls:
            found = [each for each in found if not each.symbol.is_class] or found
        return found

    def _resolve_self_call(
        self, reference: CallReference, calls: FileCalls, within: LocatedDefinition | None
    ) -> list[ResolvedTarget]:
        classes = self._find_enclosing_classes(calls, within) if within else []
        name = reference.name
        for owner in classes[:1]:
            if reference.receiver_kind == ReceiverKind.SELF:
                found = self._symbols.find_members(owner, name)
                possible = self._symbols.find_overrides(owner, name)
                return [*found, *_grade_overrides(possible, found)]
            calls_constructor = name in {"super", "base", "this", "__init__"}
            for base in self._symbols.find_bases(owner):
                if calls_constructor:
                    return [ResolvedTarget(base, Certainty.CERTAIN)]
                if found := self._symbols.find_members(base, name):
                    return found
        is_super = reference.receiver_kind == ReceiverKind.SUPER
        return [] if is_super else self._resolve_by_class_name(reference, calls)

    def _resolve_by_class_name(
        self, reference: CallReference, calls: FileCalls
    ) -> list[ResolvedTarget]:
        """Return the methods of a class hidden by a macro, or in a file that cannot be parsed."""
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

    def _resolve_on_return_type(
        self, reference: CallReference, calls: FileCalls, within: LocatedDefinition | None
    ) -> list[ResolvedTarget]:
        """Return the methods of the object a call returned: an instance, or the declared type."""
        makers = self._symbols.resolve_path(reference.receiver_text, calls, _get_scope(within))
        head, _, method = reference.receiver_text.rpartition(".")
        if head in LANGUAGES[calls.language].self_names and within is not None:
            makers = [
                each
                for owner in self._find_enclosing_classes(calls, within)[:1]
                for each in self._symbols.find_members(owner, method)
            ]
        elif not makers and head:
            return self._guess_by_name(reference, calls)
        found: list[ResolvedTarget] = []
        for maker in makers:
            if maker.symbol.is_class:
                found += self._resolve_on_types(reference, [maker])
                continue
            elsewhere = self._cache.get_calls(maker.symbol.file)
            returned = maker.symbol.return_type
            if returned and elsewhere:
                types = self._symbols.resolve_path(returned, elsewhere, maker.symbol.owner)
                found += self._resolve_on_types(reference, types)
            elif not returned:
                found += self._guess_by_name(reference, calls)
        return found

    def _resolve_on_name(
        self, reference: CallReference, calls: FileCalls, within: LocatedDefinition | None
    ) -> list[ResolvedTarget]:
        inside, receiver = _get_scope(within), reference.receiver_text
        if found := self._symbols.resolve_path(f"{receiver}.{reference.name}", calls, inside):
            return found
        if owners := self._symbols.resolve_path(receiver, calls, inside):
            return self._resolve_on_types(reference, owners)
        head = receiver.partition(".")[0]
        if any(each.alias == head for each in calls.imports):
            return []  # it is third-party
        # In these languages nothing of another file is meant without an import.
        if get_language_family(calls.language) not in MODULE_RESOLVERS:
            scope = receiver.rpartition(".")[2]
            if scoped := self._symbols.find_in_family(reference.name, calls.language, scope):
                return with_certainty(scoped, Certainty.LIKELY)
        return [] if head[:1].isupper() else self._guess_by_name(reference, calls)

    def _guess_by_name(self, reference: CallReference, calls: FileCalls) -> list[ResolvedTarget]:
        """Return the methods of this name, where nothing is known about the receiver."""
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

    def _find_enclosing_classes(
        self, calls: FileCalls, within: LocatedDefinition
    ) -> list[LocatedDefinition]:
        """Return the classes a definition is in, innermost first."""
        names = within.qualified_name.split(".")
        found = []
        for end in range(len(names), 0, -1):
            owner, name = ".".join(names[: end - 1]), names[end - 1]
            here = self._cache.find_in_file(calls.file, name)
            classes = [one for one in here if one.is_class and one.owner == owner]
            if classes or end == len(names):
                found += classes
                continue
            # A::f() {} outside of its class, or a method of Go.
            if within.class_name == name:
                classes = [
                    each.symbol for each in _filter_classes(self._symbols.resolve_path(name, calls))
                ]
                found += classes
        return found


def _get_scope(within: LocatedDefinition | None) -> str:
    return within.qualified_name if within else ""


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
