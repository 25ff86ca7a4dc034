"""Run a tree-sitter query on a source text, within the same size limit and timeout as chunking."""

from functools import cache
from typing import TYPE_CHECKING

from codekernel.chunking import parsers
from codekernel.chunking.grammar import load_grammar
from codekernel.chunking.outliner import MAX_PARSED_SIZE

if TYPE_CHECKING:
    from tree_sitter import Node as Node  # noqa: PLC0414 - others name it through here
    from tree_sitter import Query


def run_tree_query(source: bytes, language: str, query: str) -> "list[dict[str, list[Node]]]":
    """Return the captures of each match; none if the text is too large or takes too long."""
    from tree_sitter import QueryCursor  # noqa: PLC0415 - 13 ms that a start does not have

    grammar = load_grammar(language)
    if grammar is None or len(source) > MAX_PARSED_SIZE:
        return []
    tree = parsers.parse_tree(grammar.package, grammar.entry_point, source)
    if tree is None:
        return []
    cursor = QueryCursor(_compile_query(grammar.package, grammar.entry_point, query))
    return [captures for _, captures in cursor.matches(tree.root_node)]


@cache
def _compile_query(package: str, entry: str, query: str) -> "Query":
    from tree_sitter import Query  # noqa: PLC0415

    return Query(parsers.load_language(package, entry), query)
