"""Run a language's query over a source and extract its definitions.

Scopes, qualified names, parameter counts, bases and return types.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from codekernel.callgraph.expressions import parse_base_names, parse_type_name, to_dotted_path
from codekernel.callgraph.languages import LanguageSpec
from codekernel.chunking.grammar import run_tree_query
from codekernel.domain.call_graph import (
    ANY_ARGUMENT_COUNT,
    CLASS_KINDS,
    NO_DEFINITION,
    SymbolDefinition,
)

if TYPE_CHECKING:
    from codekernel.chunking.grammar import Node

# A longer node is no name and no type.
MAX_NODE_TEXT_BYTES = 400

MAX_IMPORT_BYTES = 8_000

DEFINITION_KINDS = frozenset({"function", *CLASS_KINDS})

_CAPTURE_KINDS = DEFINITION_KINDS | {"call", "new", "variable", "field", "embedded", "import"}


class SyntaxMatch(NamedTuple):
    """One match of a query: its kind, its span, and its parts by capture name."""

    kind: str
    begin: int
    end: int
    first_line: int
    last_line: int
    parts: "dict[str, list[Node]]"
    # ``Node.text`` cannot be used, see ``chunking/parsers.py``.
    source: bytes

    def get_texts(self, part: str) -> list[str]:
        """Return the texts of a part's nodes, "" for one that is too long."""
        return [self._read(node) for node in self.parts.get(part, ())]

    def get_text(self, part: str) -> str:
        """Return the text of a part's first node, "" if there is none or it is too long."""
        nodes = self.parts.get(part)
        return self._read(nodes[0]) if nodes else ""

    def get_tail(self, part: str) -> str:
        """Return the end of a part's text: the last call of a chain."""
        nodes = self.parts.get(part)
        if not nodes:
            return ""
        begin = max(nodes[0].start_byte, nodes[0].end_byte - MAX_NODE_TEXT_BYTES)
        return self.source[begin : nodes[0].end_byte].decode(errors="replace")

    def get_first_child(self, part: str) -> str:
        """Return the text of the first child of a part."""
        nodes = self.parts.get(part)
        children = nodes[0].named_children[:1] if nodes else []
        return self._read(children[0]) if children else ""

    def get_head(self) -> str:
        """Return the beginning of the whole text; an exported class can be long."""
        end = min(self.end, self.begin + MAX_IMPORT_BYTES)
        return self.source[self.begin : end].decode(errors="replace")

    def _read(self, node: "Node") -> str:
        begin, end = node.start_byte, node.end_byte
        is_long = end - begin > MAX_NODE_TEXT_BYTES
        return "" if is_long else self.source[begin:end].decode(errors="replace")


def run_query(source: bytes, language: str, spec: LanguageSpec) -> list[SyntaxMatch]:
    """Return what the query matches, in the order of the source, outer before inner."""
    found: dict[tuple[str, int, int], SyntaxMatch] = {}
    for parts in run_tree_query(source, language, spec.query):
        kind = next(name for name in parts if name in _CAPTURE_KINDS)
        whole = parts[kind][0]
        begin = whole.start_byte
        # What is called, or named: of a match whose optional parts are missing there is another.
        named = parts.get("callee") or parts.get("name") or parts[kind]
        key = (kind, begin, named[0].end_byte)
        before = found.get(key)
        if before is None or len(before.parts) < len(parts):
            rows = whole.start_point[0], whole.end_point[0]
            found[key] = SyntaxMatch(kind, begin, whole.end_byte, *rows, parts, source)
    return sorted(found.values(), key=lambda match: (match.begin, -match.end))


# Words in the types of nodes.
_VARIADIC_NODE_WORDS = ("splat", "spread", "rest", "variadic", "list_argument", "block_argument")

_OPTIONAL_NODE_WORDS = ("default", "optional")

# Parameters that no call names.
_IMPLICIT_PARAMETERS = frozenset({"self_parameter", "receiver"})

_PLAIN_PARAMETERS = frozenset({"identifier", "tuple_pattern", "object_pattern", "array_pattern"})

_NO_PARAMETERS = frozenset({"keyword_separator", "positional_separator", "type_parameters"})


def count_arguments(nodes: "list[Node] | None") -> int:
    """Return how many arguments a call passes, or ANY_ARGUMENT_COUNT."""
    if not nodes:
        return ANY_ARGUMENT_COUNT
    children = [child for child in nodes[0].named_children if "comment" not in child.type]
    if any(word in child.type for child in children for word in _VARIADIC_NODE_WORDS):
        return ANY_ARGUMENT_COUNT
    return len(children)


def count_parameters(nodes: "list[Node] | None", *, without_first: bool) -> tuple[int, int]:
    """Return the least and the most arguments a definition takes, perhaps without self."""
    if not nodes:
        return 0, ANY_ARGUMENT_COUNT
    children = nodes[0].named_children
    if len(children) == 1 and children[0].end_byte - children[0].start_byte == len("void"):
        children = [] if children[0].type == "parameter_declaration" else children
    if any(child.type == "params" for child in nodes[0].children):
        return 0, ANY_ARGUMENT_COUNT
    # Kotlin puts the default beside its parameter.
    named = any("parameter" in child.type for child in children)
    least = most = 0
    for child in children:
        kind = child.type
        if "comment" in kind or kind in _IMPLICIT_PARAMETERS or kind in _NO_PARAMETERS:
            continue
        if named and "param" not in kind and kind not in _PLAIN_PARAMETERS:
            least = max(0, least - 1)
            continue
        if any(word in kind for word in _VARIADIC_NODE_WORDS):
            return least, ANY_ARGUMENT_COUNT
        count = max(1, len(child.children_by_field_name("name")))
        optional = any(word in kind for word in _OPTIONAL_NODE_WORDS) or _has_default_value(child)
        most += count
        least += 0 if optional else count
    taken = int(without_first and most > 0 and children[0].type not in _IMPLICIT_PARAMETERS)
    return max(0, least - taken), most - taken


def is_arity_match(arguments: int, one: SymbolDefinition) -> bool:
    """Whether a call with so many arguments can mean a definition."""
    if arguments == ANY_ARGUMENT_COUNT:
        return True
    is_open = one.max_arguments == ANY_ARGUMENT_COUNT
    return one.min_arguments <= arguments and (is_open or arguments <= one.max_arguments)


def _has_default_value(parameter: "Node") -> bool:
    if parameter.type == "identifier":
        return False
    if parameter.child_by_field_name("value") is not None:
        return True
    return any(child.type in {"=", "?"} for child in parameter.children)


_GENERIC = re.compile(r"<.*>|\[.*\]", re.DOTALL)

_QUOTES = "\"'`#[] "

# A.prototype.f, module.exports.f, exports.f, this.f belong to A or to no class.
_IGNORED_OWNERS = frozenset({"prototype", "module", "exports", "this", "self", "window", "$"})

_LAST_WORD = re.compile(r"(\w+)\W*$")

# More than any file that a person wrote.
MAX_DEFINITIONS = 20_000


class ScopeTree:
    """Which definition an offset of the source is in."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        self._spans = spans
        self._begins = [begin for begin, _ in spans]
        self.parents = [NO_DEFINITION] * len(spans)
        for number, (begin, end) in enumerate(spans):
            around = number - 1
            while around >= 0 and not (spans[around][0] <= begin and end <= spans[around][1]):
                around = self.parents[around]
            self.parents[number] = around

    def find_innermost(self, offset: int) -> int:
        """Return the innermost definition around an offset, or NO_DEFINITION."""
        found = bisect_right(self._begins, offset) - 1
        while found >= 0 and self._spans[found][1] <= offset:
            found = self.parents[found]
        return found

    def list_enclosing(self, number: int) -> list[int]:
        """Return a definition and those around it, innermost first, NO_DEFINITION last."""
        ways = []
        while number >= 0:
            ways.append(number)
            number = self.parents[number]
        return [*ways, NO_DEFINITION]


def extract_definitions(
    matches: Sequence[SyntaxMatch], spec: LanguageSpec
) -> tuple[list[SymbolDefinition], ScopeTree]:
    """Return the definitions in source order and their nesting."""
    defining = _dedupe_matches(match for match in matches if match.kind in DEFINITION_KINDS)
    named = [(match, _read_names(match)) for match in defining]
    named = [(match, names) for match, names in named if names][:MAX_DEFINITIONS]
    nesting = ScopeTree([(match.begin, match.end) for match, _ in named])
    for match in matches:
        if match.kind == "embedded" and (around := nesting.find_innermost(match.begin)) >= 0:
            # What a struct of Go embeds counts as what it extends.
            named[around][0].parts.setdefault("bases", []).extend(match.parts["bases"])
    found: list[SymbolDefinition] = []
    for number, (match, names) in enumerate(named):
        parent = nesting.parents[number]
        above = found[parent] if parent >= 0 else None
        found.append(_build_definition(number, match, names, above, spec.self_names))
    return found, nesting


def _build_definition(
    number: int,
    match: SyntaxMatch,
    names: list[str],
    above: SymbolDefinition | None,
    self_names: frozenset[str],
) -> SymbolDefinition:
    owners = [above.owner, above.name] if above else []
    owners = [*filter(None, owners), *(name for name in names[:-1] if name not in _IGNORED_OWNERS)]
    kind, of_class = match.kind, ""
    if owners and (len(names) > 1 or (above and above.is_class)):
        of_class = owners[-1]
        if kind == "function" and not (len(names) == 1 and above and above.kind == "module"):
            kind = "method"
    own_first = match.get_first_child("parameters") in self_names
    least, most = count_parameters(match.parts.get("parameters"), without_first=own_first)
    bases = [name for text in match.get_texts("bases") for name in parse_base_names(text)]
    returns = match.get_text("returns")
    if returns.startswith("("):  # (T, error) of Go: the first is what is worked with
        returns = returns.strip("()").split(",", maxsplit=1)[0]
    returns = parse_type_name(returns)
    returns = of_class if returns == "Self" else returns
    return SymbolDefinition(
        number, names[-1], ".".join(owners), kind, of_class, match.first_line, match.last_line,
        least, most, tuple(bases), returns,
    )  # fmt: skip


def _read_names(match: SyntaxMatch) -> list[str]:
    """Return the name and its written owners: A::f, (s *S) f, A.prototype.f."""
    text = match.get_text("name")
    if "operator" not in text:
        text = _GENERIC.sub("", text)
    names = [name.strip(_QUOTES) for name in to_dotted_path(text).split(".")]
    owner = _LAST_WORD.search(_GENERIC.sub("", match.get_text("owner")))
    names = [owner[1], *names] if owner else names
    return names if names[-1] else []


def _dedupe_matches(matches: Iterable[SyntaxMatch]) -> list[SyntaxMatch]:
    """Drop the second of two matches with the same span."""
    found: dict[tuple[int, int], SyntaxMatch] = {}
    for match in matches:
        before = found.get((match.begin, match.end))
        if before is None or (before.kind == "object" and match.kind == "function"):
            found[match.begin, match.end] = match
    return list(found.values())
