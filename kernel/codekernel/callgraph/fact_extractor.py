"""Extract the facts of one file, its definitions, calls and imports.

With the types of variables and fields as far as the file tells. Pure.
"""

import re

from codekernel.callgraph.definitions import (
    DEFINITION_KINDS,
    NodeTexts,
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
from codekernel.callgraph.language_spec import LanguageSpec, parse_require
from codekernel.callgraph.languages import LANGUAGES
from codekernel.domain.call_graph import (
    CLASS_KINDS,
    NO_DEFINITION,
    CallFacts,
    CallReference,
    ImportBinding,
    ReceiverKind,
    SymbolDefinition,
)

_UNKNOWN_VALUE = InferredValue(ReceiverKind.VALUE, "")

# A variable that is also set to nothing still holds what it held.
_NULL_LITERALS = frozenset({"None", "null", "undefined", "nil", "nullptr", "NULL", ""})

# The compiler finds the type out; what is assigned says it here.
_INFERRED_TYPE_KEYWORDS = frozenset({"auto", "var", "let", "const"})


class VariableTypes:
    """Looks a name up from a place outwards."""

    def __init__(
        self, definitions: list[SymbolDefinition], scopes: ScopeTree, spec: LanguageSpec
    ) -> None:
        self._definitions = definitions
        self._scopes = scopes
        self._spec = spec
        self._by_scope: dict[tuple[int, str], InferredValue] = {}
        self._fields: dict[tuple[str, str], InferredValue] = {}

    def record(self, match: SyntaxMatch, texts: NodeTexts) -> None:
        """Take in a declaration or an assignment."""
        names = match.parts.get("name", [])
        place = self._scopes.find_innermost(match.begin)
        for node in names:
            name = texts.get_text([node]).lstrip("$@")
            held = self._infer(match, texts, place)
            if held is None or not name:
                continue
            if match.kind == "field":
                receiver = texts.get_text(match.parts.get("receiver"))
                if (owner := self.find_enclosing_class(place)) and (
                    not receiver or receiver in self._spec.self_names
                ):
                    _merge_value(self._fields, (owner, name), held)
            else:
                _merge_value(self._by_scope, (place, name), held)

    def find_variable(self, name: str, scope: int) -> InferredValue | None:
        """What a variable holds, seen from a definition; none if there is no such variable."""
        for number in self._scopes.list_enclosing(scope):
            if found := self._by_scope.get((number, name)):
                return found
        return self.find_field(name, scope) if self._spec.has_implicit_self else None

    def is_local(self, name: str, scope: int) -> bool:
        """Whether a name is a variable of a function around."""
        ways = self._scopes.list_enclosing(scope)
        return any((number, name) in self._by_scope for number in ways if number != NO_DEFINITION)

    def find_field(self, name: str, scope: int) -> InferredValue | None:
        """What a field of the class around holds."""
        return self._fields.get((self.find_enclosing_class(scope), name))

    def find_field_of(self, owner: InferredValue, name: str) -> InferredValue | None:
        """What a field holds of something whose class is known."""
        return (
            self._fields.get((owner.text, name))
            if owner.receiver_kind == ReceiverKind.TYPE
            else None
        )

    def find_enclosing_class(self, scope: int) -> str:
        """The name of the class that a definition belongs to; "" if there is none."""
        for number in self._scopes.list_enclosing(scope)[:-1]:
            one = self._definitions[number]
            if one.kind in CLASS_KINDS and one.kind != "module":
                return one.name
            if one.kind == "method":
                return one.class_name
        return ""

    def _infer(self, match: SyntaxMatch, texts: NodeTexts, scope: int) -> InferredValue | None:
        declared = texts.get_text(match.parts.get("type")).strip(": ")
        if declared and declared not in _INFERRED_TYPE_KEYWORDS:
            name = parse_type_name(declared)
            if name in {"Self", "self"}:
                name = self.find_enclosing_class(scope)
            return InferredValue(ReceiverKind.TYPE, name) if name else _UNKNOWN_VALUE
        value = match.parts.get("value")
        text = texts.get_text(value)
        if value and text.strip() in _NULL_LITERALS:
            return None
        return infer_value(text) or self.find_variable(parse_path(text), scope) or _UNKNOWN_VALUE


def _merge_value(known: dict[tuple[int, str], InferredValue] | dict[tuple[str, str], InferredValue],
           key: tuple[int, str] | tuple[str, str], held: InferredValue) -> None:  # fmt: skip
    """One name that holds different things holds anything."""
    table: dict[object, InferredValue] = known  # type: ignore[assignment]
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
    """The language that a text is really in: headers of C++ are called as those of C."""
    return "cpp" if language == "c" and _CPP_ONLY_SYNTAX.search(text) else language


def extract_facts(text: str, language: str) -> CallFacts:
    """All that a file says about calls; nothing for a language without a table."""
    speech = LANGUAGES.get(language)
    if speech is None:
        return CallFacts()
    source = text.encode(errors="surrogatepass")
    matches = run_query(source, language, speech)
    texts = NodeTexts(source)
    definitions, nesting = extract_definitions(matches, texts, speech)
    imports = _extract_imports(matches, texts, speech)
    reader = _ReferenceExtractor(texts, speech, definitions, nesting)
    reader.aliases = {each.alias for each in imports if each.module}
    defined = {(match.begin, match.end) for match in matches if match.kind in DEFINITION_KINDS}
    for match in matches:
        if match.kind in {"variable", "field"} and (match.begin, match.end) not in defined:
            reader.variables.record(match, texts)
    calls = [match for match in matches if match.kind in {"call", "new"}][:MAX_REFERENCES]
    references = filter(None, map(reader.extract, calls))
    return CallFacts(tuple(definitions), tuple(references), tuple(imports))


class _ReferenceExtractor:
    """Tells what stands before the name in each call of one file."""

    def __init__(
        self,
        texts: NodeTexts,
        spec: LanguageSpec,
        definitions: list[SymbolDefinition],
        scopes: ScopeTree,
    ) -> None:
        self._texts = texts
        self._spec = spec
        self._scopes = scopes
        self.variables = VariableTypes(definitions, scopes, spec)
        self._names = {one.name for one in definitions}
        self.aliases: set[str] = set()

    def extract(self, match: SyntaxMatch) -> CallReference | None:
        """One call; none if what is called has no name."""
        parts = match.parts
        if "name" in parts:
            receiver, name = (
                self._texts.get_tail(parts.get("receiver")),
                self._texts.get_text(parts["name"]),
            )
            name, line = name.split("<", 1)[0], parts["name"][0].start_point[0]
        else:
            callee = parse_callee(self._texts.get_tail(parts.get("callee")))
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
        speech, variables = self._spec, self.variables
        if kind == "new" or (name == "new" and speech.family == "ruby"):
            return ReceiverKind.NEW, parse_path(receiver)
        if not receiver:
            return self._classify_bare_name(name, scope)
        path = parse_path(receiver)
        if receiver.strip() in speech.self_names or path in speech.self_names:
            return ReceiverKind.SELF, variables.find_enclosing_class(scope)
        if receiver.strip() in speech.super_names or receiver.startswith("super("):
            return ReceiverKind.SUPER, variables.find_enclosing_class(scope)
        return (
            self._classify_path(path, scope)
            if path
            else infer_value(receiver) or (ReceiverKind.VALUE, "")
        )

    def _classify_path(self, path: str, scope: int) -> tuple[ReceiverKind, str]:
        speech, variables = self._spec, self.variables
        head, _, rest = path.partition(".")
        if head in speech.self_names and rest and "." not in rest:
            return variables.find_field(rest.lstrip("$"), scope) or (ReceiverKind.VALUE, path)
        held = variables.find_variable(path.lstrip("@"), scope)
        if held:
            return held
        if rest and (owner := variables.find_variable(head, scope)):
            return variables.find_field_of(owner, rest) or (ReceiverKind.VALUE, path)
        return ReceiverKind.NAME, path

    def _classify_bare_name(self, name: str, scope: int) -> tuple[ReceiverKind, str]:
        speech = self._spec
        if name in speech.super_names or name in speech.self_names:  # super(x), base(x), this(x)
            return ReceiverKind.SUPER, self.variables.find_enclosing_class(scope)
        if name in self._names or name in self.aliases:
            return ReceiverKind.NOTHING, ""
        if self.variables.is_local(name, scope):
            return ReceiverKind.UNKNOWN, ""
        return ReceiverKind.NOTHING, ""


def _extract_imports(
    matches: list[SyntaxMatch], texts: NodeTexts, spec: LanguageSpec
) -> list[ImportBinding]:
    found = [
        each
        for match in matches
        if match.kind == "import"
        for each in spec.parse_imports(texts.get_head(match))
    ]
    for match in matches:
        if match.kind == "variable" and spec.family == "javascript":
            value, name = (
                texts.get_text(match.parts.get("value")),
                texts.get_text(match.parts.get("name")),
            )
            if value.startswith("require("):
                found += parse_require(value, name)
    return found
