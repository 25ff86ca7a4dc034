"""Describe a language for chunking (which tree-sitter nodes are definitions).

Apply such a rule to a node: its kind and its names.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING


@dataclass(frozen=True, slots=True)
class DefinitionRule:
    """A node type that defines something.

    ``name`` is the way to the name: fields or types of children, joined by "."; "*" repeats a
    step, "|" separates alternatives. ``values`` maps the type of the node at ``value`` to a kind
    that replaces ``kind``; if ``kind`` is empty, only those count. ``words`` does the same for
    words in front of the name. ``top`` are definitions only outside of functions and classes.
    """

    kind: str
    name_path: str = "name"
    value_path: str = "value"
    kinds_by_value: Mapping[str, str] = field(default_factory=dict)
    kinds_by_keyword: Mapping[str, str] = field(default_factory=dict)
    # Where the type stands that a method belongs to, if it is not around it.
    owner_field: str = ""
    # A text the name is found in, for grammars that do not know about definitions.
    name_pattern: re.Pattern[str] | None = None
    is_top_level_only: bool = False
    # Without this child a node only mentions what is defined elsewhere: struct S *s.
    required_field: str = ""
    introduces_names: bool = True


@dataclass(frozen=True, slots=True)
class Grammar:
    """One language. ``package`` is the wheel's module and ``entry`` its function."""

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


def build_rules(**types: str) -> dict[str, DefinitionRule]:
    """Rules for nodes whose name is in their field "name": type=kind."""
    return {node_type: DefinitionRule(kind) for node_type, kind in types.items()}


if TYPE_CHECKING:
    from tree_sitter import Node

# Longer than any name; what is longer is an expression.
MAX_NAME_CHARS = 120

# Where a pattern looks for a name: the head of a definition.
DEFINITION_HEAD_BYTES = 300

_ARGUMENTS = re.compile(r"[<\[({].*", re.DOTALL)

_LAST_WORD = re.compile(r"(\w+)\W*$")

# Owners that say nothing: A.prototype.f, module.exports.f, this.f.
_GENERIC_OWNERS = frozenset({"prototype", "module", "exports", "this", "self", "window", ""})

_KINDS_NAMED_WITH_ARGUMENTS = frozenset({"rule", "key", "test"})


def find_kind(node: "Node", rule: DefinitionRule, source: bytes) -> str:
    """What ``node`` defines, or "" if it is nothing of the sort."""
    if rule.required_field and node.child_by_field_name(rule.required_field) is None:
        return ""
    if rule.kinds_by_value:
        value = resolve_node_path(node, rule.value_path)
        return rule.kinds_by_value.get(value.type, rule.kind) if value else rule.kind
    if rule.kinds_by_keyword:
        head = source[node.start_byte : node.start_byte + DEFINITION_HEAD_BYTES].decode(
            errors="replace"
        )
        if rule.name_pattern:
            return rule.kinds_by_keyword.get(re.split(r"[\s(]", head, maxsplit=1)[0], "")
        before_name = head.split("{", 1)[0].split(":", 1)[0].split()
        return next(
            (rule.kinds_by_keyword[word] for word in before_name if word in rule.kinds_by_keyword),
            rule.kind,
        )
    return rule.kind


def find_names(
    node: "Node", rule: DefinitionRule, grammar: Grammar, kind: str, source: bytes
) -> tuple[str, ...]:
    """The name of ``node``, with its owner's in front where the name says so; or nothing."""
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


def resolve_node_path(node: "Node", path: str) -> "Node | None":
    """The node at the end of ``way``: fields or types of children, as in `Rule.name`."""
    for alternative in path.split("|"):
        found: Node | None = node
        for step in alternative.split("."):
            if found is not None:
                found = (
                    _descend_repeatedly(found, step[:-1])
                    if step.endswith("*")
                    else _find_child(found, step)
                )
        if found is not None:
            return found
    return None


def _find_name_text(node: "Node", rule: DefinitionRule, source: bytes) -> str:
    if rule.name_pattern:
        head = source[node.start_byte : min(node.end_byte, node.start_byte + DEFINITION_HEAD_BYTES)]
        match = rule.name_pattern.search(head.decode(errors="replace"))
        return match[1] if match else ""
    named = resolve_node_path(node, rule.name_path)
    return source[named.start_byte : named.end_byte].decode(errors="replace") if named else ""


def _find_owner(node: "Node", rule: DefinitionRule, source: bytes) -> str:
    owner = node.child_by_field_name(rule.owner_field)
    if owner is None:
        return ""
    text = source[owner.start_byte : owner.end_byte].decode(errors="replace")
    match = _LAST_WORD.search(text.split("[", 1)[0])
    return match[1] if match else ""


def _find_child(node: "Node", step: str) -> "Node | None":
    by_field = node.child_by_field_name(step)
    if by_field is not None:
        return by_field
    return next((child for child in node.named_children if child.type == step), None)


def _descend_repeatedly(node: "Node", step: str) -> "Node | None":
    found = None
    following = node.child_by_field_name(step)
    while following is not None:
        found = following
        following = found.child_by_field_name(step)
        if following is None and found.type in {"parenthesized_declarator", "reference_declarator"}:
            following = next(iter(found.named_children), None)
    return found
