"""Runs a language's query over a text: definitions, calls, variables and imports as places."""

from typing import TYPE_CHECKING, NamedTuple

from kernel.callgraph.speech import Speech
from kernel.chunking.querying import matches

if TYPE_CHECKING:
    from kernel.chunking.querying import Node

# What is longer is no name, no type, and nothing that could be told from its text.
LONGEST_TEXT = 400
LONGEST_IMPORT = 8_000
_WHOLES = frozenset(
    {
        "function",
        "class",
        "interface",
        "object",
        "impl",
        "module",
        "call",
        "new",
        "variable",
        "field",
        "embedded",
        "import",
    }
)


class Match(NamedTuple):
    """One thing in the source: what it is, where, and its parts by the names of their captures."""

    kind: str
    begin: int
    end: int
    first: int
    last: int
    parts: "dict[str, list[Node]]"


def matches_of(source: bytes, language: str, speech: Speech) -> list[Match]:
    """What the query finds, in the order of the source, outer before inner."""
    found: dict[tuple[str, int, int], Match] = {}
    for parts in matches(source, language, speech.query):
        kind = next(name for name in parts if name in _WHOLES)
        whole = parts[kind][0]
        begin = whole.start_byte
        # What is called, or named: of a match whose optional parts are missing there is another.
        named = parts.get("callee") or parts.get("name") or parts[kind]
        key = (kind, begin, named[0].end_byte)
        before = found.get(key)
        if before is None or len(before.parts) < len(parts):
            rows = whole.start_point[0], whole.end_point[0]
            found[key] = Match(kind, begin, whole.end_byte, *rows, parts)
    return sorted(found.values(), key=lambda match: (match.begin, -match.end))


class Texts:
    """The texts of nodes; ``Node.text`` cannot be used, see ``chunking/parsers.py``."""

    def __init__(self, source: bytes) -> None:
        self._source = source

    def of(self, nodes: "list[Node] | None") -> str:
        """What the first of these nodes says; nothing if it says too much."""
        if not nodes or nodes[0].end_byte - nodes[0].start_byte > LONGEST_TEXT:
            return ""
        return self._source[nodes[0].start_byte : nodes[0].end_byte].decode(errors="replace")

    def end_of(self, nodes: "list[Node] | None") -> str:
        """The end of what the first node says, be it long: of a chain of calls the last."""
        if not nodes:
            return ""
        begin = max(nodes[0].start_byte, nodes[0].end_byte - LONGEST_TEXT)
        return self._source[begin : nodes[0].end_byte].decode(errors="replace")

    def first_of(self, nodes: "list[Node] | None") -> str:
        """What the first child of a node says."""
        return self.of(nodes[0].named_children[:1]) if nodes else ""

    def begin_of(self, match: Match) -> str:
        """What a whole match says; of a long one, as an exported class is, the beginning."""
        end = min(match.end, match.begin + LONGEST_IMPORT)
        return self._source[match.begin : end].decode(errors="replace")
