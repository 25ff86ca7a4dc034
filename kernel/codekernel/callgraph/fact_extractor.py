"""Extract the facts of one file, its definitions, calls and imports.

With the types of variables and fields as far as the file tells. Pure.
"""

import re
from typing import TypeVar

from codekernel.callgraph.definitions import (
    DEFINITION_KINDS,
    ScopeTree,
    SyntaxMatch,
    count_arguments,
    extract_definitions,
    run_query,
)
from codekernel.callgraph.expressions import (
    InferredValue,
    infer_value,
    parse_callee,
    parse_path,
    parse_type_name,
)
from codekernel.callgraph.languages import LANGUAGES, LanguageSpec, parse_require
from codekernel.domain.call_graph import (
    NO_DEFINITION,
    CallFacts,
    CallReference,
    ImportBinding,
    ReceiverKind,
    SymbolDefinition,
)

Key = TypeVar("Key")

_UNKNOWN_VALUE = InferredValue(ReceiverKind.VALUE, "")

# A variable that is also set to nothing still holds what it held.
_NULL_LITERALS = frozenset({"None", "null", "undefined", "nil", "nullptr", "NULL", ""})

# The compiler finds the type out; what is assigned says it here.
_INFERRED_TYPE_KEYWORDS = frozenset({"auto", "var", "let", "const"})


class VariableTypes:
    """The inferred types of variables and fields; looked up from a scope outwards."""

    def __init__(
        self, definitions: list[SymbolDefinition], scopes: ScopeTree, spec: LanguageSpec
    ) -> None:
        self._definitions = definitions
        self._scopes = scopes
        self._spec = spec
        self._by_scope: dict[tuple[int, str], InferredValue] = {}
        self._fields: dict[tuple[str, str], InferredValue] = {}

    def record(self, match: SyntaxMatch) -> None:
        """Record a declaration or an assignment."""
        place = self._scopes.find_innermost(match.begin)
        for text in match.get_texts("name"):
            name, held = text.lstrip("$@"), self._infer(match, place)
            if held is None or not name:
                continue
            if match.kind != "field":
                _merge_value(self._by_scope, (place, name), held)
            elif owner := self.find_enclosing_class(place):
                receiver = match.get_text("receiver")
                if not receiver or receiver in self._spec.self_names:
                    _merge_value(self._fields, (owner, name), held)

    def find_variable(self, name: str, scope: int) -> InferredValue | None:
        """Return what a variable holds, seen from a definition; None if there is none."""
        for number in self._scopes.list_enclosing(scope):
            if found := self._by_scope.get((number, name)):
                return found
        return self.find_field(name, scope) if self._spec.has_implicit_self else None

    def is_local(self, name: str, scope: int) -> bool:
        """Whether a name is a variable of a function around."""
        ways = self._scopes.list_enclosing(scope)
        return any((number, name) in self._by_scope for number in ways if number != NO_DEFINITION)

    def find_field(self, name: str, scope: int) -> InferredValue | None:
        """Return what a field of the enclosing class holds."""
        return self._fields.get((self.find_enclosing_class(scope), name))

    def find_field_of(self, owner: InferredValue, name: str) -> InferredValue | None:
        """Return what a field holds of an object whose class is known."""
        has_class = owner.receiver_kind == ReceiverKind.TYPE
        return self._fields.get((owner.text, name)) if has_class else None

    def find_enclosing_class(self, scope: int) -> str:
        """Return the name of the class a definition belongs to, or ""."""
        for number in self._scopes.list_enclosing(scope)[:-1]:
            one = self._definitions[number]
            if one.is_class and one.kind != "module":
                return one.name
            if one.kind == "method":
                return one.class_name
        return ""

    def _infer(self, match: SyntaxMatch, scope: int) -> InferredValue | None:
        declared = match.get_text("type").strip(": ")
        if declared and declared not in _INFERRED_TYPE_KEYWORDS:
            name = parse_type_name(declared)
            if name in {"Self", "self"}:
                name = self.find_enclosing_class(scope)
            return InferredValue(ReceiverKind.TYPE, name) if name else _UNKNOWN_VALUE
        text = match.get_text("value")
        if "value" in match.parts and text.strip() in _NULL_LITERALS:
            return None
        return infer_value(text) or self.find_variable(parse_path(text), scope) or _UNKNOWN_VALUE


def _merge_value(table: dict[Key, InferredValue], key: Key, held: InferredValue) -> None:
    """Record a value; a name that holds different types has none."""
    before = table.get(key)
    if before is None or before == held:
        table[key] = held
    elif before.receiver_kind != ReceiverKind.TYPE or held.receiver_kind == ReceiverKind.TYPE:
        table[key] = _UNKNOWN_VALUE


# More than any file that a person wrote; beyond it calls are not followed.
MAX_REFERENCES = 50_000

# What no header of C has.
_CPP_ONLY_SYNTAX = re.compile(
    r"^\s*(?:namespace\b|template\s*<|class\s+\w|using\s+\w|public:|private:|constexpr\b)|\w::\w",
    re.MULTILINE,
)


def detect_header_language(text: str, language: str) -> str:
    """Return the language of a text: C++ headers have the extension of C."""
    return "cpp" if language == "c" and _CPP_ONLY_SYNTAX.search(text) else language


def extract_facts(text: str, language: str) -> CallFacts:
    """Return the call facts of a file; none for a language without a spec."""
    spec = LANGUAGES.get(language)
    if spec is None:
        return CallFacts()
    source = text.encode(errors="surrogatepass")
    matches = run_query(source, language, spec)
    definitions, nesting = extract_definitions(matches, spec)
    imports = _extract_imports(matches, spec)
    aliases = {each.alias for each in imports if each.module}
    reader = _ReferenceExtractor(spec, definitions, nesting, aliases)
    defined = {(match.begin, match.end) for match in matches if match.kind in DEFINITION_KINDS}
    for match in matches:
        if match.kind in {"variable", "field"} and (match.begin, match.end) not in defined:
            reader.variables.record(match)
    calls = [match for match in matches if match.kind in {"call", "new"}][:MAX_REFERENCES]
    references = filter(None, map(reader.extract, calls))
    return CallFacts(tuple(definitions), tuple(references), tuple(imports))


class _ReferenceExtractor:
    """Classifies the receiver of each call of one file."""

    def __init__(
        self,
        spec: LanguageSpec,
        definitions: list[SymbolDefinition],
        scopes: ScopeTree,
        aliases: set[str],
    ) -> None:
        self._spec = spec
        self._scopes = scopes
        self.variables = VariableTypes(definitions, scopes, spec)
        self._known_names = {one.name for one in definitions} | aliases

    def extract(self, match: SyntaxMatch) -> CallReference | None:
        """Return one call; None if the callee has no name."""
        parts = match.parts
        if "name" in parts:
            receiver = match.get_tail("receiver")
            name = match.get_text("name").split("<", 1)[0]
            line = parts["name"][0].start_point[0]
        else:
            callee = parse_callee(match.get_tail("callee"))
            if callee is None:
                return None
            receiver, name, line = callee.receiver, callee.name, parts["callee"][0].end_point[0]
        within = self._scopes.find_innermost(match.begin)
        through, text = self._classify_receiver(match.kind, receiver, name, within)
        arguments = count_arguments(parts.get("arguments"))
        return CallReference(name, line, within, through, text, arguments)

    def _classify_receiver(
        self, kind: str, receiver: str, name: str, scope: int
    ) -> tuple[ReceiverKind, str]:
        spec, variables = self._spec, self.variables
        if kind == "new" or (name == "new" and spec.family == "ruby"):
            return ReceiverKind.NEW, parse_path(receiver)
        if not receiver:
            return self._classify_bare_name(name, scope)
        path = parse_path(receiver)
        if receiver.strip() in spec.self_names or path in spec.self_names:
            return ReceiverKind.SELF, variables.find_enclosing_class(scope)
        if receiver.strip() in spec.super_names or receiver.startswith("super("):
            return ReceiverKind.SUPER, variables.find_enclosing_class(scope)
        if path:
            return self._classify_path(path, scope)
        return infer_value(receiver) or _UNKNOWN_VALUE

    def _classify_path(self, path: str, scope: int) -> tuple[ReceiverKind, str]:
        spec, variables = self._spec, self.variables
        head, _, rest = path.partition(".")
        if head in spec.self_names and rest and "." not in rest:
            return variables.find_field(rest.lstrip("$"), scope) or (ReceiverKind.VALUE, path)
        held = variables.find_variable(path.lstrip("@"), scope)
        if held:
            return held
        if rest and (owner := variables.find_variable(head, scope)):
            return variables.find_field_of(owner, rest) or (ReceiverKind.VALUE, path)
        return ReceiverKind.NAME, path

    def _classify_bare_name(self, name: str, scope: int) -> tuple[ReceiverKind, str]:
        spec = self._spec
        if name in spec.super_names or name in spec.self_names:  # super(x), base(x), this(x)
            return ReceiverKind.SUPER, self.variables.find_enclosing_class(scope)
        is_known = name in self._known_names
        is_variable = not is_known and self.variables.is_local(name, scope)
        return ReceiverKind.UNKNOWN if is_variable else ReceiverKind.NOTHING, ""


def _extract_imports(matches: list[SyntaxMatch], spec: LanguageSpec) -> list[ImportBinding]:
    found = [
        each
        for match in matches
        if match.kind == "import"
        for each in spec.parse_imports(match.get_head())
    ]
    for match in matches:
        if match.kind == "variable" and spec.family == "javascript":
            value = match.get_text("value")
            if value.startswith("require("):
                found += parse_require(value, match.get_text("name"))
    return found
