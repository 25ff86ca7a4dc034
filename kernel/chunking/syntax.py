"""From a syntax tree to an outline, by few nodes: those that are large or hold definitions."""

from typing import TYPE_CHECKING, NamedTuple

from kernel.chunking.grammar import Grammar, Rule
from kernel.chunking.names import follow, kind_of, names_of
from kernel.chunking.outline import CLASS_LIKE, DEEPEST, Definition, Outline, lead_line, nest, shade
from kernel.chunking.source_lines import SourceLines

if TYPE_CHECKING:
    from tree_sitter import Node

# Inside of smaller functions nobody looks for definitions, and to look there costs as much as a
# fifth of the parse.
LOOK_INSIDE_BYTES = 300
_BODIES = (
    "body",
    "block",
    "declaration_list",
    "declarations",
    "struct_declaration",
)
# The bytes of UTF-8 that do not begin a character.
_CONTINUATIONS = bytes(range(0x80, 0xC0))
# Where a node is: constants count only at the top, and functions in types are methods.
TOP, IN_CLASS, IN_FUNCTION = range(3)
_NO_ROW = -2
# More than any file that a person wrote; beyond it no more names are collected.
MOST_DEFINITIONS = 20_000
_ONLY_AT_THE_TOP = frozenset({"const", "key"})


class _Found(NamedTuple):
    """A definition as the tree has it: bytes, and rows for what leads to it."""

    begin: int
    end: int
    head: int
    body: int
    row: int
    kind: str
    names: tuple[str, ...]
    introduces: tuple[str, ...]


class _Visit(NamedTuple):
    node: "Node"
    depth: int
    where: int
    # Row and byte at which the wrappers around this node begin, or -1.
    row: int = -1
    head: int = -1


class Walk:
    """Collects depths, glued lines and definitions of one text, from one tree or several."""

    def __init__(self, source: bytes, lines: SourceLines, smallest: int) -> None:
        self._source = source
        self._lines = lines
        # UTF-8 needs up to four bytes for a character, so that this visits rather too many.
        self._look_inside = min(smallest, LOOK_INSIDE_BYTES)
        self._depths = bytearray(lines.count)
        self._glued: list[int] = []
        self._found: list[_Found] = []
        self.embedded: list[tuple[Node, str, int]] = []

    def visit(self, root: "Node", grammar: Grammar, depth: int = 0) -> None:
        """Take in a tree whose root lies ``depth`` deep in the text."""
        waiting = [_Visit(root, depth, TOP)]
        while waiting:
            waiting.extend(self._children(waiting.pop(), grammar))

    def outline(self) -> Outline:
        """What was found, in characters."""
        levels = shade(self._depths, self._lines, self._glued)
        found = self._found
        places = sorted({at for one in found for at in (one.begin, one.end, one.head, one.body)})
        characters = _characters(self._source, places, len(self._lines.text))
        definitions = [
            Definition(
                begin=characters[one.begin],
                end=characters[one.end],
                lead=min(self._lines.starts[lead_line(levels, one.row)], characters[one.begin]),
                head=characters[one.head],
                body=characters[one.body],
                kind=one.kind,
                names=one.names,
                introduces=one.introduces,
            )
            for one in found
        ]
        return Outline(levels, nest(definitions))

    def _children(  # noqa: C901  # the inner loop of all indexing: a call costs as much as a step
        self, visit: _Visit, grammar: Grammar
    ) -> list[_Visit]:
        """Take in the children of a node; the result are those whose children matter too."""
        node, depth, where, _, _ = visit
        # Whatever stands directly in a class is looked into, be it on one line.
        in_class = where == IN_CLASS and node.type in grammar.rules
        following: list[_Visit] = []
        lead_row = _NO_ROW
        previous: _Found | None = None
        for child in node.named_children:
            node_type = child.type
            row = child.start_point[0]
            end_row, end_column = child.end_point
            if row <= lead_row + 1:
                self._glue(row)
            last_row = end_row if end_column else end_row - 1
            if node_type in grammar.leads or "comment" in node_type:
                lead_row = last_row
                self._deepen(row, last_row, depth + 1)
                continue
            lead_row = _NO_ROW
            several = last_row > row
            inner = depth
            if several and node_type != "ERROR":
                inner = min(depth + 1, DEEPEST)
                self._deepen(row, last_row, inner)
            rule = grammar.rules.get(node_type)
            found = self._definition(child, rule, grammar, visit, row) if rule else None
            previous = self._keep(found, previous, grammar) if found else None
            large = several and child.end_byte - child.start_byte > self._look_inside
            if found:
                inside = IN_CLASS if found.kind in CLASS_LIKE else IN_FUNCTION
                if large or inside == IN_CLASS:
                    following.append(_Visit(child, inner, inside))
            elif node_type in grammar.wrappers and where != IN_FUNCTION:
                following.append(_wrapped(visit, child, inner, row))
            elif large or in_class:
                following.append(_Visit(child, inner, where))
            if node_type in grammar.embeds:
                self.embedded.append((child, grammar.embeds[node_type], inner))
        return following

    def _glue(self, row: int) -> None:
        if 0 < row < self._lines.count:
            self._glued.append(row)

    def _deepen(self, row: int, last_row: int, depth: int) -> None:
        """Note that something reaches from ``row`` to ``last_row``."""
        width = min(last_row, self._lines.count - 1) - row
        if width > 0:
            self._depths[row + 1 : row + 1 + width] = bytes((min(depth, DEEPEST),)) * width

    def _definition(
        self, node: "Node", rule: Rule, grammar: Grammar, visit: _Visit, row: int
    ) -> _Found | None:
        kind = kind_of(node, rule, self._source) if len(self._found) < MOST_DEFINITIONS else ""
        if not kind or (rule.top and kind in _ONLY_AT_THE_TOP and visit.where != TOP):
            return None
        names = names_of(node, rule, grammar, kind, self._source)
        if not names:
            return None
        if kind == "function" and (visit.where == IN_CLASS or len(names) > 1):
            kind = "method"
        begin, end = node.start_byte, node.end_byte
        same_row = visit.row == row
        return _Found(
            begin=begin,
            end=end,
            head=visit.head if same_row else begin,
            body=_body(node, rule) or end,
            row=visit.row if visit.row >= 0 else row,
            kind=kind,
            names=names,
            introduces=tuple(map(str.strip, names[-1].split(","))) if rule.introduces else (),
        )

    def _keep(self, found: _Found, previous: _Found | None, grammar: Grammar) -> _Found:
        """Take note of ``found``; clauses of one function become one definition."""
        same = grammar.clauses and previous is not None and previous.names == found.names
        if same and previous is not None:
            self._found.pop()
            self._glued.append(found.row)
            found = previous._replace(end=found.end)
        self._found.append(found)
        return found


def _wrapped(visit: _Visit, child: "Node", depth: int, row: int) -> _Visit:
    if visit.row >= 0:
        return _Visit(child, depth, visit.where, visit.row, visit.head)
    return _Visit(child, depth, visit.where, row, child.start_byte)


def _body(node: "Node", rule: Rule) -> int | None:
    """Where the body of a definition begins."""
    holder = follow(node, rule.value) if rule.values and rule.value != "left" else None
    for candidate in (node, holder):
        if candidate is None:
            continue
        body = candidate.child_by_field_name("body")
        if body is not None:
            return body.start_byte
        for child in candidate.named_children:
            if child.type.endswith(_BODIES):
                return child.start_byte
    return None


def _characters(source: bytes, places: list[int], length: int) -> dict[int, int]:
    """Offsets in bytes, in order, as offsets in characters."""
    if len(source) == length:
        return {place: place for place in places}
    characters: dict[int, int] = {}
    at = count = 0
    for place in places:
        count += len(source[at:place].translate(None, _CONTINUATIONS))
        characters[place] = count
        at = place
    return characters
