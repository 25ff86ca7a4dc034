"""Resolve a call to the definitions it may reach, each with a certainty."""

from dataclasses import replace

from codekernel.callgraph.definitions import is_arity_match
from codekernel.callgraph.fact_cache import FactCache
from codekernel.callgraph.languages import LANGUAGES
from codekernel.callgraph.symbol_table import (
    MODULE_RESOLVERS,
    Certainty,
    ResolvedTarget,
    SymbolTable,
    get_language_family,
    get_symbol_family,
)
from codekernel.domain.call_graph import CLASS_KINDS, CallReference, ReceiverKind
from codekernel.storage.catalog.call_store import FileCalls, LocatedDefinition

# Methods of one name, of which an unknown object may have any; more say nothing.
MAX_GUESSES = 8


class CallResolver:
    """Answers for the references of one moment."""

    def __init__(self, cache: FactCache) -> None:
        self._cache = cache
        self._symbols = SymbolTable(cache)

    def resolve(self, reference: CallReference, calls: FileCalls) -> list[ResolvedTarget]:
        """What a reference in a file may call."""
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
                path = (
                    f"{reference.receiver_text}.{reference.name}"
                    if reference.receiver_text
                    else reference.name
                )
                if reference.name == "new":  # Ruby
                    path = reference.receiver_text
                found = self._symbols.resolve_path(path, calls, _get_scope(within))
                return _filter_classes(found) or found
            case ReceiverKind.SELF | ReceiverKind.SUPER:
                return self._resolve_self_call(reference, calls, within)
            case ReceiverKind.TYPE:
                types = self._symbols.resolve_path(
                    reference.receiver_text, calls, _get_scope(within)
                )
                return (
                    self._resolve_on_types(reference, types)
                    if types
                    else self._resolve_by_class_name(reference, calls)
                )
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
        speech = LANGUAGES[calls.language]
        inside = _get_scope(within)
        if speech.has_implicit_self and within is not None:
            for owner in self._find_enclosing_classes(calls, within):
                if own := self._symbols.find_members(owner, reference.name):
                    return own
            if unseen := self._resolve_by_class_name(
                replace(reference, receiver_text=within.definition.class_name), calls
            ):
                return unseen
        found = self._symbols.resolve_path(reference.name, calls, inside)
        if not speech.has_constructor_calls:
            found = [
                each for each in found if each.symbol.definition.kind not in CLASS_KINDS
            ] or found
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
        return (
            self._resolve_by_class_name(reference, calls)
            if reference.receiver_kind == ReceiverKind.SELF
            else []
        )

    def _resolve_by_class_name(
        self, reference: CallReference, calls: FileCalls
    ) -> list[ResolvedTarget]:
        """Methods of a class that hides behind a macro, or in a file that cannot be parsed."""
        spoken = get_language_family(calls.language)
        if spoken in MODULE_RESOLVERS or spoken == "jvm":
            return []  # there an import says where the class is, or that it is from elsewhere
        same = (
            self._cache.find_definitions(reference.name, reference.receiver_text.rpartition(".")[2])
            if reference.receiver_text
            else []
        )
        return [
            ResolvedTarget(each, Certainty.LIKELY)
            for each in same
            if get_symbol_family(each) == spoken
        ]

    def _resolve_on_types(
        self, reference: CallReference, types: list[ResolvedTarget]
    ) -> list[ResolvedTarget]:
        found: list[ResolvedTarget] = []
        for each in _filter_classes(types):
            own = self._symbols.find_members(each.symbol, reference.name)
            found += [ResolvedTarget(f.symbol, min(f.certainty, each.certainty)) for f in own]
            possible = _grade_overrides(
                self._symbols.find_overrides(each.symbol, reference.name), found
            )
            found += [ResolvedTarget(f.symbol, min(f.certainty, each.certainty)) for f in possible]
        return found

    def _resolve_on_return_type(
        self, reference: CallReference, calls: FileCalls, within: LocatedDefinition | None
    ) -> list[ResolvedTarget]:
        """A method of what a call returned: of a class an object, of a function what it says."""
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
            if maker.symbol.definition.kind in CLASS_KINDS:
                found += self._resolve_on_types(reference, [maker])
                continue
            elsewhere = self._cache.get_calls(maker.symbol.file)
            returned = maker.symbol.definition.return_type
            if returned and elsewhere:
                types = self._symbols.resolve_path(
                    returned, elsewhere, maker.symbol.definition.owner
                )
                found += self._resolve_on_types(reference, types)
            elif not returned:
                found += self._guess_by_name(reference, calls)
        return found

    def _resolve_on_name(
        self, reference: CallReference, calls: FileCalls, within: LocatedDefinition | None
    ) -> list[ResolvedTarget]:
        inside = _get_scope(within)
        found = self._symbols.resolve_path(
            f"{reference.receiver_text}.{reference.name}", calls, inside
        )
        if found:
            return found
        owners = self._symbols.resolve_path(reference.receiver_text, calls, inside)
        if owners:
            return self._resolve_on_types(reference, owners)
        head = reference.receiver_text.partition(".")[0]
        if any(each.alias == head for each in calls.imports):
            return []  # it is from elsewhere
        spoken = get_language_family(calls.language)
        scope = reference.receiver_text.rpartition(".")[2]
        scoped = [
            each
            for each in self._cache.find_definitions(reference.name, scope)
            if get_symbol_family(each) == spoken
        ]
        if spoken in MODULE_RESOLVERS:  # without an import nothing of another file is meant
            scoped = []
        if scoped:
            return [ResolvedTarget(each, Certainty.LIKELY) for each in scoped]
        return [] if head[:1].isupper() else self._guess_by_name(reference, calls)

    def _guess_by_name(self, reference: CallReference, calls: FileCalls) -> list[ResolvedTarget]:
        """Methods that are only known to have this name."""
        speech = LANGUAGES[calls.language]
        same = [
            each
            for each in self._cache.find_definitions(reference.name)
            if get_symbol_family(each) == speech.family
            and each.definition.kind == "method"
            and is_arity_match(
                reference.argument_count,
                each.definition.min_arguments,
                each.definition.max_arguments,
            )
        ]
        if not same or len(same) > MAX_GUESSES or reference.name.startswith("__"):
            return []
        alone = (
            len({each.definition.class_name for each in same}) == 1
            and reference.name not in speech.common_methods
        )
        return [
            ResolvedTarget(each, Certainty.LIKELY if alone else Certainty.POSSIBLE) for each in same
        ]

    def _find_enclosing_classes(
        self, calls: FileCalls, within: LocatedDefinition
    ) -> list[LocatedDefinition]:
        """The classes a definition is in, innermost first."""
        names = within.definition.qualified_name.split(".")
        found = []
        for end in range(len(names), 0, -1):
            owner, name = ".".join(names[: end - 1]), names[end - 1]
            here = self._cache.find_in_file(calls.file, name)
            classes = [
                one
                for one in here
                if one.definition.kind in CLASS_KINDS and one.definition.owner == owner
            ]
            if classes or end == len(names):
                found += classes
                continue
            # A::f() {} outside of its class, or a method of Go.
            if within.definition.class_name == name:
                found += [
                    each.symbol for each in _filter_classes(self._symbols.resolve_path(name, calls))
                ]  # fmt: skip
        return found


def _get_scope(within: LocatedDefinition | None) -> str:
    return within.definition.qualified_name if within else ""


def _filter_classes(found: list[ResolvedTarget]) -> list[ResolvedTarget]:
    return [each for each in found if each.symbol.definition.kind in CLASS_KINDS]


def _grade_overrides(
    methods: list[LocatedDefinition], found: list[ResolvedTarget]
) -> list[ResolvedTarget]:
    """Methods that override what was found; the only ones there are, if nothing was."""
    certainty = Certainty.POSSIBLE if found else Certainty.LIKELY
    certainty = Certainty.POSSIBLE if len(methods) > 1 else certainty
    return [ResolvedTarget(each, certainty) for each in methods]


def _filter_by_arity(arguments: int, found: list[ResolvedTarget]) -> list[ResolvedTarget]:
    """Of overloads those that take so many arguments; if none does, all are only possible."""
    fitting = [
        each
        for each in found
        if each.symbol.definition.kind in CLASS_KINDS
        or is_arity_match(
            arguments, each.symbol.definition.min_arguments, each.symbol.definition.max_arguments
        )
    ]
    if fitting or not found:
        return fitting
    return [ResolvedTarget(each.symbol, min(each.certainty, Certainty.LIKELY)) for each in found]
