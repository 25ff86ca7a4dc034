"""Trees asked by queries: what a language is looked through for is then a text, and no code."""

from functools import cache
from typing import TYPE_CHECKING

from kernel.chunking import parsers
from kernel.chunking.outlining import LARGEST_PARSED
from kernel.chunking.tables import GRAMMARS

if TYPE_CHECKING:
    from tree_sitter import Node as Node  # noqa: PLC0414 - others name it through here
    from tree_sitter import Query


def matches(source: bytes, language: str, query: str) -> "list[dict[str, list[Node]]]":
    """For each match its captures; nothing if the text is too large or takes too long."""
    from tree_sitter import QueryCursor  # noqa: PLC0415 - 13 ms that a start does not have

    grammar = GRAMMARS[language]
    if len(source) > LARGEST_PARSED:
        return []
    tree = parsers.parse(grammar.package, grammar.entry, source)
    if tree is None:
        return []
    cursor = QueryCursor(_query(grammar.package, grammar.entry, query))
    return [captures for _, captures in cursor.matches(tree.root_node)]


@cache
def _query(package: str, entry: str, query: str) -> "Query":
    from tree_sitter import Query  # noqa: PLC0415

    return Query(parsers.language(package, entry), query)
