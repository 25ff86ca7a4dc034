"""Build the outline of a text from its syntax tree: code, scripts in pages, cells of notebooks."""

import re
from typing import NamedTuple

from tree_sitter import Node

from codekernel.chunking.grammar import (
    PARSE_TIMEOUT_SECONDS,
    DefinitionRule,
    Grammar,
    find_kind,
    find_names,
    load_grammar,
    parse_tree,
    resolve_node_path,
)
from codekernel.chunking.outline import (
    COMMENT_DEPTH,
    MAX_DEPTH,
    MIN_INSPECTED_BYTES,
    OutlineDefinition,
    SourceLines,
    TextOutline,
    compute_levels,
    find_lead_line,
    nest_definitions,
)

_BODY_TYPES = ("body", "block", "declaration_list", "declarations", "struct_declaration")

# The bytes of UTF-8 that do not begin a character.
_UTF8_CONTINUATION_BYTES = bytes(range(0x80, 0xC0))

# Where a node is: constants count only at the top, and functions in types are methods.
TOP, IN_CLASS, IN_FUNCTION = range(3)

_NO_ROW = -2

# More than any file that a person wrote; beyond it no more names are collected.
MAX_DEFINITIONS = 20_000

_TOP_LEVEL_KINDS = frozenset({"const", "key"})

_CLASS_LIKE_KINDS = frozenset(
    {"class", "interface", "struct", "enum", "trait", "impl", "object", "module"}
)


class _NodeVisit(NamedTuple):
    node: Node
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
        self._described_lines: list[int] = []
        # In bytes until ``build_outline``, and ``lead`` is a row.
        self._definitions: list[OutlineDefinition] = []
        self.embedded: list[tuple[Node, str, int]] = []

    def visit_tree(self, root: Node, grammar: Grammar, depth: int = 0) -> None:
        """Visit a tree whose root lies ``depth`` deep in the text."""
        waiting = [_NodeVisit(root, depth, TOP)]
        while waiting:
            waiting.extend(self._visit_children(waiting.pop(), grammar))

    def build_outline(self) -> TextOutline:
        """Return the outline, in characters."""
        levels = compute_levels(
            self._depths, self._lines, self._attached_lines, self._described_lines
        )
        found = self._definitions
        places = {at for one in found for at in (one.begin, one.end, one.head, one.body)}
        characters = _convert_to_characters(self._source, sorted(places), len(self._lines.text))
        for one in found:
            one.begin, one.end = characters[one.begin], characters[one.end]
            one.head, one.body = characters[one.head], characters[one.body]
            one.lead = min(self._lines.starts[find_lead_line(levels, one.lead)], one.begin)
        return TextOutline(levels, nest_definitions(found))

    def _visit_children(  # noqa: C901  # the inner loop of all indexing: a call costs as much as a step
        self, visit: _NodeVisit, grammar: Grammar
    ) -> list[_NodeVisit]:
        """Visit the children of a node; return those whose children matter too."""
        node, depth, where, _, _ = visit
        # Members of a class are always visited, even on one line.
        in_class = where == IN_CLASS and node.type in grammar.rules
        following: list[_NodeVisit] = []
        lead_row = _NO_ROW
        previous: OutlineDefinition | None = None
        for child in node.named_children:
            node_type = child.type
            row = child.start_point[0]
            end_row, end_column = child.end_point
            if row <= lead_row + 1:
                self._described_lines.append(row)
            last_row = end_row if end_column else end_row - 1
            if node_type in grammar.leading_types or "comment" in node_type:
                lead_row = last_row
                self._raise_depth(row, last_row, COMMENT_DEPTH)
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
                inside = IN_CLASS if found.kind in _CLASS_LIKE_KINDS else IN_FUNCTION
                if large or inside == IN_CLASS:
                    following.append(_NodeVisit(child, inner, inside))
            elif node_type in grammar.wrapper_types and where != IN_FUNCTION:
                following.append(_enter_wrapper(visit, child, inner, row))
            elif large or in_class:
                following.append(_NodeVisit(child, inner, where))
            if node_type in grammar.embedded_languages:
                self.embedded.append((child, grammar.embedded_languages[node_type], inner))
        return following

    def _raise_depth(self, row: int, last_row: int, depth: int) -> None:
        """Record that a node reaches from ``row`` to ``last_row``."""
        width = min(last_row, self._lines.line_count - 1) - row
        if width > 0:
            self._depths[row + 1 : row + 1 + width] = bytes((min(depth, COMMENT_DEPTH),)) * width

    def _read_definition(
        self, node: Node, rule: DefinitionRule, grammar: Grammar, visit: _NodeVisit, row: int
    ) -> OutlineDefinition | None:
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
        return OutlineDefinition(
            begin=begin,
            end=end,
            head=visit.head if visit.row == row else begin,
            lead=visit.row if visit.row >= 0 else row,
            body=_find_body(node, rule) or end,
            kind=kind,
            names=names,
            introduced_names=tuple(map(str.strip, introduced)),
        )

    def _add_definition(
        self, found: OutlineDefinition, previous: OutlineDefinition | None, grammar: Grammar
    ) -> OutlineDefinition:
        """Add ``found``; clauses of one function become one definition."""
        if grammar.merges_clauses and previous and previous.names == found.names:
            self._attached_lines.append(found.lead)
            previous.end = found.end
            return previous
        self._definitions.append(found)
        return found


def _enter_wrapper(visit: _NodeVisit, child: Node, depth: int, row: int) -> _NodeVisit:
    if visit.row >= 0:
        return _NodeVisit(child, depth, visit.scope, visit.row, visit.head)
    return _NodeVisit(child, depth, visit.scope, row, child.start_byte)


def _find_body(node: Node, rule: DefinitionRule) -> int | None:
    """Return the byte at which the body of a definition begins."""
    has_value = rule.kinds_by_value and rule.value_path != "left"
    holder = resolve_node_path(node, rule.value_path) if has_value else None
    for candidate in filter(None, (node, holder)):
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


NOTEBOOK = "notebook"

_SCRIPT_LANGUAGE = re.compile(rb"""lang(?:uage)?\s*=\s*["']?(ts|tsx|typescript)\b""")


def outline_syntax(
    lines: SourceLines,
    language: str,
    min_chunk_chars: int,
    timeout_seconds: float = PARSE_TIMEOUT_SECONDS,
) -> TextOutline | None:
    """Return the outline of a text; None without a grammar, or after a timeout."""
    grammar = load_grammar("json" if language == NOTEBOOK else language)
    if grammar is None:
        return None
    # Lone surrogates are no UTF-8, but three bytes each all the same: the parser skips them.
    source = lines.text.encode(errors="surrogatepass")
    tree = parse_tree(grammar, source, timeout_seconds=timeout_seconds)
    if tree is None:
        return None
    walk = SyntaxOutliner(source, lines, min_chunk_chars)
    walk.visit_tree(tree.root_node, grammar)
    for element, inner_language, depth in walk.embedded:
        _visit_embedded_script(walk, source, element, inner_language, depth)
    outline = walk.build_outline()
    if language == NOTEBOOK:
        outline.definitions = _outline_cells(tree.root_node, source, lines)
    return outline


def _visit_embedded_script(
    walk: SyntaxOutliner, source: bytes, element: Node, language: str, depth: int
) -> None:
    content = next((one for one in element.named_children if one.type == "raw_text"), None)
    if content is None:
        return
    opening = source[element.start_byte : content.start_byte]
    grammar = load_grammar("typescript" if _SCRIPT_LANGUAGE.search(opening) else language)
    if grammar and (tree := parse_tree(grammar, source, [content.range])):
        walk.visit_tree(tree.root_node, grammar, depth)


_MARKDOWN_CELL = re.compile(r'"cell_type"\s*:\s*"markdown"')

_CELLS_KEY = b'"cells"'

_CELL_HEADING = re.compile(r'"\s*#{1,6}\s+([^"\\]+)')


def _outline_cells(root: Node, source: bytes, lines: SourceLines) -> list[OutlineDefinition]:
    """Return the cells of a notebook's JSON, which take the place of its keys.

    A cell is called by its number, under the last Markdown heading above it.
    """
    cells: list[OutlineDefinition] = []
    heading: tuple[str, ...] = ()
    for number, (first, last) in enumerate(_find_cell_rows(root, source), 1):
        begin, end = lines.starts[first], lines.starts[last]
        content = lines.text[begin:end]
        if _MARKDOWN_CELL.search(content) and (match := _CELL_HEADING.search(content)):
            heading = (match[1].strip(),)
        names = (*heading, f"cell {number}")
        cells.append(OutlineDefinition(begin, end, begin, begin, begin, "cell", names))
    return nest_definitions(cells)


def _find_cell_rows(root: Node, source: bytes) -> list[tuple[int, int]]:
    """First row of each cell and the row after its last."""
    for pair in (pair for top in root.named_children for pair in top.named_children):
        key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
        if key is None or value is None:
            continue
        if source[key.start_byte : key.end_byte] == _CELLS_KEY:
            return [
                (cell.start_point[0], cell.end_point[0] + 1)
                for cell in value.named_children
                if cell.type == "object"
            ]
    return []
