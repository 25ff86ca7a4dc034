"""Which way a text is outlined: by its grammar, its headings, its cells, or just its lines."""

import re
from typing import TYPE_CHECKING

from kernel.chunking.headings import markdown_outline, rst_outline
from kernel.chunking.notebook import add_cells
from kernel.chunking.outline import Outline
from kernel.chunking.parsers import parse
from kernel.chunking.plain import plain_outline
from kernel.chunking.source_lines import SourceLines
from kernel.chunking.syntax import Walk
from kernel.chunking.tables import GRAMMARS

if TYPE_CHECKING:
    from tree_sitter import Node

# Larger files are data or generated; it bounds the memory of a tree and the time to walk it.
LARGEST_PARSED = 1_000_000
NOTEBOOK = "notebook"
_HEADED = {"markdown": markdown_outline, "rst": rst_outline}
_SCRIPT_LANGUAGE = re.compile(rb"""lang(?:uage)?\s*=\s*["']?(ts|tsx|typescript)\b""")


def outline_of(lines: SourceLines, language: str, smallest: int) -> Outline:
    """The outline of a text of which no chunk will need to be smaller than ``smallest``."""
    if language in _HEADED:
        return _HEADED[language](lines)
    outline = None
    if len(lines.text) <= LARGEST_PARSED:
        outline = _parsed_outline(lines, language, smallest)
    return outline or plain_outline(lines)


def _parsed_outline(lines: SourceLines, language: str, smallest: int) -> Outline | None:
    grammar = GRAMMARS.get("json" if language == NOTEBOOK else language)
    if grammar is None:
        return None
    # Lone surrogates are no UTF-8, but three bytes each all the same: the parser skips them.
    source = lines.text.encode(errors="surrogatepass")
    tree = parse(grammar.package, grammar.entry, source)
    if tree is None:
        return None
    walk = Walk(source, lines, smallest)
    walk.visit(tree.root_node, grammar)
    for element, inner_language, depth in walk.embedded:
        _visit_script(walk, source, element, inner_language, depth)
    outline = walk.outline()
    return add_cells(outline, tree.root_node, source, lines) if language == NOTEBOOK else outline


def _visit_script(walk: Walk, source: bytes, element: "Node", language: str, depth: int) -> None:
    content = next((one for one in element.named_children if one.type == "raw_text"), None)
    if content is None:
        return
    opening = source[element.start_byte : content.start_byte]
    grammar = GRAMMARS["typescript" if _SCRIPT_LANGUAGE.search(opening) else language]
    tree = parse(grammar.package, grammar.entry, source, [content.range])
    if tree is not None:
        walk.visit(tree.root_node, grammar, depth)
