"""Build the outline of a text in any language.

From its syntax tree, from its headings or cells, or from its indentation.
"""

import re
from typing import TYPE_CHECKING, NamedTuple

from codekernel.chunking.document_outline import (
    outline_cells,
    outline_markdown,
    outline_plain_text,
    outline_rst,
)
from codekernel.chunking.grammar import (
    DefinitionRule,
    Grammar,
    find_kind,
    find_names,
    load_grammar,
    resolve_node_path,
)
from codekernel.chunking.outline import (
    CLASS_LIKE_KINDS,
    MAX_DEPTH,
    OutlineDefinition,
    SourceLines,
    TextOutline,
    compute_levels,
    find_lead_line,
    nest_definitions,
)
from codekernel.chunking.parsers import parse_tree

if TYPE_CHECKING:
    from tree_sitter import Node

# Smaller functions are not searched for inner definitions: that costs a fifth of the parse.
MIN_INSPECTED_BYTES = 300

_BODY_TYPES = ("body", "block", "declaration_list", "declarations", "struct_declaration")

# The bytes of UTF-8 that do not begin a character.
_UTF8_CONTINUATION_BYTES = bytes(range(0x80, 0xC0))

# Where a node is: constants count only at the top, and functions in types are methods.
TOP, IN_CLASS, IN_FUNCTION = range(3)

_NO_ROW = -2

# More than any file that a person wrote; beyond it no more names are collected.
MAX_DEFINITIONS = 20_000

_TOP_LEVEL_KINDS = frozenset({"const", "key"})


class _NodeDefinition(NamedTuple):
    """A definition as the tree has it, in bytes and rows."""

    begin: int
    end: int
    head: int
    body: int
    row: int
    kind: str
    names: tuple[str, ...]
    introduced_names: tuple[str, ...]


class _NodeVisit(NamedTuple):
    node: "Node"
    depth: int
    scope: int
    # Row and byte at which the wrappers around this node begin, or -1.
    row: int = -1
    head: int = -1


class SyntaxOutliner:
    """Collects depths, attached lines and definitions of one text, from one tree or several."""

    def __init__(self, source: bytes, lines: SourceLines, min_chunk_chars: int) -> None:
        self._source = source
        self._lines = lines
        # UTF-8 needs up to four bytes for a character, so that this visits rather too many.
        self._min_inspected_bytes = min(min_chunk_chars, MIN_INSPECTED_BYTES)
        self._depths = bytearray(lines.line_count)
        self._attached_lines: list[int] = []
        self._definitions: list[_NodeDefinition] = []
        self.embedded: list[tuple[Node, str, int]] = []

    def visit_tree(self, root: "Node", grammar: Grammar, depth: int = 0) -> None:
        """Visit a tree whose root lies ``depth`` deep in the text."""
        waiting = [_NodeVisit(root, depth, TOP)]
        while waiting:
            waiting.extend(self._visit_children(waiting.pop(), grammar))

    def build_outline(self) -> TextOutline:
        """Return the outline, in characters."""
        levels = compute_levels(self._depths, self._lines, self._attached_lines)
        found = self._definitions
        places = sorted({at for one in found for at in (one.begin, one.end, one.head, one.body)})
        characters = _convert_to_characters(self._source, places, len(self._lines.text))
        definitions = [
            OutlineDefinition(
                begin=characters[one.begin],
                end=characters[one.end],
                lead=min(
                    self._lines.starts[find_lead_line(levels, one.row)], characters[one.begin]
                ),
                head=characters[one.head],
                body=characters[one.body],
                kind=one.kind,
                names=one.names,
                introduced_names=one.introduced_names,
            )
            for one in found
        ]
        return TextOutline(levels, nest_definitions(definitions))

    def _visit_children(  # noqa: C901  # the inner loop of all indexing: a call costs as much as a step
        self, visit: _NodeVisit, grammar: Grammar
    ) -> list[_NodeVisit]:
        """Visit the children of a node; return those whose children matter too."""
        node, depth, where, _, _ = visit
        # Members of a class are always visited, even on one line.
        in_class = where == IN_CLASS and node.type in grammar.rules
        following: list[_NodeVisit] = []
        lead_row = _NO_ROW
        previous: _NodeDefinition | None = None
        for child in node.named_children:
            node_type = child.type
            row = child.start_point[0]
            end_row, end_column = child.end_point
            if row <= lead_row + 1:
                self._attach_line(row)
            last_row = end_row if end_column else end_row - 1
            if node_type in grammar.leading_types or "comment" in node_type:
                lead_row = last_row
                self._raise_depth(row, last_row, depth + 1)
                continue
            lead_row = _NO_ROW
            several = last_row > row
            inner = depth
            if several and node_type != "ERROR":
                inner = min(depth + 1, MAX_DEPTH)
                self._raise_depth(row, last_row, inner)
            rule = grammar.rules.get(node_type)
            found = self._read_definition(child, rule, grammar, visit, row) if rule else None
            previous = self._add_definition(found, previous, grammar) if found else None
            large = several and child.end_byte - child.start_byte > self._min_inspected_bytes
            if found:
                inside = IN_CLASS if found.kind in CLASS_LIKE_KINDS else IN_FUNCTION
                if large or inside == IN_CLASS:
                    following.append(_NodeVisit(child, inner, inside))
            elif node_type in grammar.wrapper_types and where != IN_FUNCTION:
                following.append(_enter_wrapper(visit, child, inner, row))
            elif large or in_class:
                following.append(_NodeVisit(child, inner, where))
            if node_type in grammar.embedded_languages:
                self.embedded.append((child, grammar.embedded_languages[node_type], inner))
        return following

    def _attach_line(self, row: int) -> None:
        if 0 < row < self._lines.line_count:
            self._attached_lines.append(row)

    def _raise_depth(self, row: int, last_row: int, depth: int) -> None:
        """Record that a node reaches from ``row`` to ``last_row``."""
        width = min(last_row, self._lines.line_count - 1) - row
        if width > 0:
            self._depths[row + 1 : row + 1 + width] = bytes((min(depth, MAX_DEPTH),)) * width

    def _read_definition(
        self, node: "Node", rule: DefinitionRule, grammar: Grammar, visit: _NodeVisit, row: int
    ) -> _NodeDefinition | None:
        if len(self._definitions) >= MAX_DEFINITIONS:
            return None
        kind = find_kind(node, rule, self._source)
        if not kind or (rule.is_top_level_only and kind in _TOP_LEVEL_KINDS and visit.scope != TOP):
            return None
        names = find_names(node, rule, grammar, kind, self._source)
        if not names:
            return None
        if kind == "function" and (visit.scope == IN_CLASS or len(names) > 1):
            kind = "method"
        begin, end = node.start_byte, node.end_byte
        introduced = names[-1].split(",") if rule.introduces_names else ()
        return _NodeDefinition(
            begin=begin,
            end=end,
            head=visit.head if visit.row == row else begin,
            body=_find_body(node, rule) or end,
            row=visit.row if visit.row >= 0 else row,
            kind=kind,
            names=names,
            introduced_names=tuple(map(str.strip, introduced)),
        )

    def _add_definition(
        self, found: _NodeDefinition, previous: _NodeDefinition | None, grammar: Grammar
    ) -> _NodeDefinition:
        """Add ``found``; clauses of one function become one definition."""
        same = grammar.merges_clauses and previous is not None and previous.names == found.names
        if same and previous is not None:
            self._definitions.pop()
            self._attached_lines.append(found.row)
            found = previous._replace(end=found.end)
        self._definitions.append(found)
        return found


def _enter_wrapper(visit: _NodeVisit, child: "Node", depth: int, row: int) -> _NodeVisit:
    if visit.row >= 0:
        return _NodeVisit(child, depth, visit.scope, visit.row, visit.head)
    return _NodeVisit(child, depth, visit.scope, row, child.start_byte)


def _find_body(node: "Node", rule: DefinitionRule) -> int | None:
    """Return the byte at which the body of a definition begins."""
    has_value = rule.kinds_by_value and rule.value_path != "left"
    holder = resolve_node_path(node, rule.value_path) if has_value else None
    for candidate in (node, holder):
        if candidate is None:
            continue
        body = candidate.child_by_field_name("body")
        if body is not None:
            return body.start_byte
        for child in candidate.named_children:
            if child.type.endswith(_BODY_TYPES):
                return child.start_byte
    return None


def _convert_to_characters(source: bytes, places: list[int], length: int) -> dict[int, int]:
    """Convert sorted byte offsets to character offsets."""
    if len(source) == length:
        return {place: place for place in places}
    characters: dict[int, int] = {}
    at = count = 0
    for place in places:
        count += len(source[at:place].translate(None, _UTF8_CONTINUATION_BYTES))
        characters[place] = count
        at = place
    return characters


# Larger files are data or generated; it bounds the memory of a tree and the time to walk it.
MAX_PARSED_SIZE = 1_000_000

NOTEBOOK = "notebook"

_HEADING_OUTLINERS = {"markdown": outline_markdown, "rst": outline_rst}

_SCRIPT_LANGUAGE = re.compile(rb"""lang(?:uage)?\s*=\s*["']?(ts|tsx|typescript)\b""")


def outline_text(lines: SourceLines, language: str, min_chunk_chars: int) -> TextOutline:
    """Return the outline of a text; no chunk will be smaller than ``min_chunk_chars``."""
    if language in _HEADING_OUTLINERS:
        return _HEADING_OUTLINERS[language](lines)
    outline = None
    if len(lines.text) <= MAX_PARSED_SIZE:
        outline = _outline_by_grammar(lines, language, min_chunk_chars)
    return outline or outline_plain_text(lines)


def _outline_by_grammar(
    lines: SourceLines, language: str, min_chunk_chars: int
) -> TextOutline | None:
    grammar = load_grammar("json" if language == NOTEBOOK else language)
    if grammar is None:
        return None
    # Lone surrogates are no UTF-8, but three bytes each all the same: the parser skips them.
    source = lines.text.encode(errors="surrogatepass")
    tree = parse_tree(grammar.package, grammar.entry_point, source)
    if tree is None:
        return None
    walk = SyntaxOutliner(source, lines, min_chunk_chars)
    walk.visit_tree(tree.root_node, grammar)
    for element, inner_language, depth in walk.embedded:
        _visit_embedded_script(walk, source, element, inner_language, depth)
    outline = walk.build_outline()
    return (
        outline_cells(outline, tree.root_node, source, lines) if language == NOTEBOOK else outline
    )


def _visit_embedded_script(
    walk: SyntaxOutliner, source: bytes, element: "Node", language: str, depth: int
) -> None:
    content = next((one for one in element.named_children if one.type == "raw_text"), None)
    if content is None:
        return
    opening = source[element.start_byte : content.start_byte]
    grammar = load_grammar("typescript" if _SCRIPT_LANGUAGE.search(opening) else language)
    if grammar is None:
        return
    tree = parse_tree(grammar.package, grammar.entry_point, source, [content.range])
    if tree is not None:
        walk.visit_tree(tree.root_node, grammar, depth)
