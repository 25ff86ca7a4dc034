"""The languages that are parsed: their tree-sitter parsers, and which nodes are definitions.

The definitions are read from grammars/<language>.toml; applied to a node, such a rule gives its
kind and its names. Parsers are loaded on first use, one per thread, with a parse timeout. The
binding keeps every slice it is given and crashes on a progress callback, so the text is read from
one reused buffer that ends at the deadline; never use Node.text.
"""

import re
import threading
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tree_sitter import Language, Parser, Query, QueryCursor, Range, Tree
from tree_sitter import Node as Node  # noqa: PLC0414 - the call graph names it through here

from codekernel.chunking.outline import MAX_PARSED_SIZE


@dataclass(frozen=True, slots=True)
class DefinitionRule:
    """A node type that defines something.

    ``name_path`` leads to the name: fields or types of children, joined by "."; "*" repeats a
    step, "|" separates alternatives. ``kinds_by_value`` maps the type of the node at ``value_path``
    to a kind that replaces ``kind``; if ``kind`` is empty, only those count. ``kinds_by_keyword``
    does the same for words in front of the name.
    """

    kind: str
    name_path: str = "name"
    value_path: str = "value"
    kinds_by_value: Mapping[str, str] = field(default_factory=dict)
    kinds_by_keyword: Mapping[str, str] = field(default_factory=dict)
    # The field with the type that a method belongs to, if it is not around it.
    owner_field: str = ""
    # Finds the name in the text, for grammars that do not know about definitions.
    name_pattern: re.Pattern[str] | None = None
    is_top_level_only: bool = False
    # Without this child a node only mentions what is defined elsewhere: struct S *s.
    required_field: str = ""
    introduces_names: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Grammar:
    """One language; ``package`` is the wheel's module and ``entry_point`` its function."""

    package: str
    rules: Mapping[str, DefinitionRule]
    entry_point: str = "language"
    # Nodes that wrap a definition: an export, a template, decorators. Their start is its start.
    wrapper_types: frozenset[str] = frozenset()
    # Nodes that belong to the next one, besides comments.
    leading_types: frozenset[str] = frozenset()
    # What separates the names of a qualified name.
    name_separator: re.Pattern[str] | None = None
    # Neighbours of the same name are clauses of one definition.
    merges_clauses: bool = False
    # Elements whose content is in another language.
    embedded_languages: Mapping[str, str] = field(default_factory=dict)


# Languages that are parsed with the grammar of another one.
ALIASES = {"jsx": "javascript", "vue": "html", "svelte": "html"}

GRAMMARS_FOLDER = Path(__file__).with_name("grammars")


def load_grammar(language: str) -> Grammar | None:
    """Return the grammar of a language; None if it has none."""
    return _read_grammar(ALIASES.get(language, language))


@cache
def _read_grammar(name: str) -> Grammar | None:
    """Read grammars/<name>.toml; None if there is no such file."""
    table = _read_grammar_table(name)
    if table is None:
        return None
    omitted = table.pop("omitted_rules", ())
    for key in ("wrapper_types", "leading_types"):
        table[key] = frozenset(table.get(key, ()))
    table["rules"] = {
        node_type: DefinitionRule(**_compile({"kind": rule} if isinstance(rule, str) else rule))
        for node_type, rule in table["rules"].items()
        if node_type not in omitted
    }
    return Grammar(**_compile(table))


def _read_grammar_table(name: str) -> dict[str, Any] | None:
    path = GRAMMARS_FOLDER / f"{name}.toml"
    if not path.is_file():
        return None
    table = tomllib.loads(path.read_text("utf-8"))
    base = _read_grammar_table(table.pop("extends", "")) or {}
    return {**base, **table, "rules": {**base.get("rules", {}), **table.get("rules", {})}}


def _compile(table: dict[str, Any]) -> dict[str, Any]:
    """Return a table with its regular expressions compiled."""
    patterns = table.keys() & {"name_pattern", "name_separator"}
    return table | {key: re.compile(table[key]) for key in patterns}


# Measured: C, the slowest on real files, needs 0.5 s a megabyte of CPU on a busy machine, and
# 180 KB of garbage 0.9 s in JavaScript or C++.
PARSE_TIMEOUT_SECONDS = 0.5

PARSE_TIMEOUT_SECONDS_PER_MEGABYTE = 1.5

# How often the clock is looked at; a slice costs a call into Python.
PARSE_SLICE_BYTES = 16_384


class _ThreadState(threading.local):
    """A parser keeps state while it works, so that each thread needs its own."""

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.parsers: dict[Grammar, Parser] = {}


_thread_state = _ThreadState()


def parse_tree(
    grammar: Grammar,
    source: bytes,
    ranges: list[Range] | None = None,
    timeout_seconds: float = PARSE_TIMEOUT_SECONDS,
) -> Tree | None:
    """Return the tree of ``source``, or of some ranges of it; None after a timeout.

    A large text has more time than ``timeout_seconds``.
    """
    parser = _thread_state.parsers.get(grammar)
    if parser is None:
        parser = _thread_state.parsers[grammar] = Parser(load_language(grammar))
    parser.included_ranges = ranges or []
    seconds = timeout_seconds + PARSE_TIMEOUT_SECONDS_PER_MEGABYTE * len(source) / 1e6
    deadline = time.thread_time() + seconds
    is_late = False
    buffer = _thread_state.buffer

    def read(offset: int, _: object) -> bytearray:
        nonlocal is_late
        is_late = is_late or time.thread_time() > deadline
        buffer[:] = b"" if is_late else source[offset : offset + PARSE_SLICE_BYTES]
        return buffer

    tree = parser.parse(read)
    return None if is_late else tree


@cache
def load_language(grammar: Grammar) -> Language:
    """Load the library of a grammar once."""
    return Language(getattr(import_module(grammar.package), grammar.entry_point)())


def run_tree_query(source: bytes, language: str, query: str) -> list[dict[str, list[Node]]]:
    """Return the captures of each match; none if the text is too large or takes too long."""
    grammar = load_grammar(language)
    if grammar is None or len(source) > MAX_PARSED_SIZE:
        return []
    tree = parse_tree(grammar, source)
    if tree is None:
        return []
    cursor = QueryCursor(_compile_query(grammar, query))
    return [captures for _, captures in cursor.matches(tree.root_node)]


@cache
def _compile_query(grammar: Grammar, query: str) -> Query:
    return Query(load_language(grammar), query)


# Longer than any name; what is longer is an expression.
MAX_NAME_CHARS = 120

# Where a pattern looks for a name: the head of a definition.
DEFINITION_HEAD_BYTES = 300

_ARGUMENTS = re.compile(r"[<\[({].*", re.DOTALL)

_LAST_WORD = re.compile(r"(\w+)\W*$")

# Owners without meaning: A.prototype.f, module.exports.f, this.f.
_GENERIC_OWNERS = frozenset({"prototype", "module", "exports", "this", "self", "window", ""})

_KINDS_NAMED_WITH_ARGUMENTS = frozenset({"rule", "key", "test"})


def find_kind(node: Node, rule: DefinitionRule, source: bytes) -> str:
    """Return what ``node`` defines, or ""."""
    if rule.required_field and node.child_by_field_name(rule.required_field) is None:
        return ""
    if rule.kinds_by_value:
        value = resolve_node_path(node, rule.value_path)
        return rule.kinds_by_value.get(value.type, rule.kind) if value else rule.kind
    if rule.kinds_by_keyword:
        kinds = rule.kinds_by_keyword
        head_bytes = source[node.start_byte : node.start_byte + DEFINITION_HEAD_BYTES]
        head = head_bytes.decode(errors="replace")
        if rule.name_pattern:
            return kinds.get(re.split(r"[\s(]", head, maxsplit=1)[0], "")
        before_name = head.split("{", 1)[0].split(":", 1)[0].split()
        return next((kinds[word] for word in before_name if word in kinds), rule.kind)
    return rule.kind


def find_names(
    node: Node, rule: DefinitionRule, grammar: Grammar, kind: str, source: bytes
) -> tuple[str, ...]:
    """Return the name of ``node``, after its owner's where it is qualified; or nothing."""
    text = _find_name_text(node, rule, source)
    if "operator" not in text and kind not in _KINDS_NAMED_WITH_ARGUMENTS:
        text = _ARGUMENTS.sub("", text)
    text = " ".join(text.split()).strip("\"'` $*&,")
    if not text or len(text) > MAX_NAME_CHARS:
        return ()
    parts = [text]
    if grammar.name_separator:
        parts = [part.strip() for part in grammar.name_separator.split(text)]
        parts = [*(part for part in parts[:-1] if part not in _GENERIC_OWNERS), parts[-1]]
    if kind == "impl":
        parts = [text.rsplit("::", 1)[-1]]
    if rule.owner_field and (owner := _find_owner(node, rule, source)):
        parts.insert(0, owner)
    return tuple(parts) if parts[-1] else ()


def resolve_node_path(node: Node, path: str) -> Node | None:
    """Return the node at the end of ``path``, as in ``DefinitionRule.name_path``."""
    for alternative in path.split("|"):
        found: Node | None = node
        for step in alternative.split("."):
            if found is not None and step.endswith("*"):
                found = _descend_repeatedly(found, step[:-1])
            elif found is not None:
                found = _find_child(found, step)
        if found is not None:
            return found
    return None


def _find_name_text(node: Node, rule: DefinitionRule, source: bytes) -> str:
    if rule.name_pattern:
        head = source[node.start_byte : min(node.end_byte, node.start_byte + DEFINITION_HEAD_BYTES)]
        match = rule.name_pattern.search(head.decode(errors="replace"))
        return match[1] if match else ""
    named = resolve_node_path(node, rule.name_path)
    return source[named.start_byte : named.end_byte].decode(errors="replace") if named else ""


def _find_owner(node: Node, rule: DefinitionRule, source: bytes) -> str:
    owner = node.child_by_field_name(rule.owner_field)
    if owner is None:
        return ""
    text = source[owner.start_byte : owner.end_byte].decode(errors="replace")
    match = _LAST_WORD.search(text.split("[", 1)[0])
    return match[1] if match else ""


def _find_child(node: Node, step: str) -> Node | None:
    by_field = node.child_by_field_name(step)
    if by_field is not None:
        return by_field
    return next((child for child in node.named_children if child.type == step), None)


def _descend_repeatedly(node: Node, step: str) -> Node | None:
    found = None
    following = node.child_by_field_name(step)
    while following is not None:
        found = following
        following = found.child_by_field_name(step)
        if following is None and found.type in {"parenthesized_declarator", "reference_declarator"}:
            following = next(iter(found.named_children), None)
    return found
