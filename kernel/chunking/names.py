"""How a definition is called: following a rule through a node, and cleaning what stands there."""

import re
from typing import TYPE_CHECKING

from kernel.chunking.grammar import Grammar, Rule

if TYPE_CHECKING:
    from tree_sitter import Node

# Longer than any name; what is longer is an expression.
LONGEST_NAME = 120
# Where a pattern looks for a name: the head of a definition.
HEAD_BYTES = 300
_ARGUMENTS = re.compile(r"[<\[({].*", re.DOTALL)
_LAST_WORD = re.compile(r"(\w+)\W*$")
# Owners that say nothing: A.prototype.f, module.exports.f, this.f.
_SILENT_OWNERS = frozenset({"prototype", "module", "exports", "this", "self", "window", ""})
_ARGUMENTS_BELONG_TO_THE_NAME = frozenset({"rule", "key", "test"})


def kind_of(node: "Node", rule: Rule, source: bytes) -> str:
    """What ``node`` defines, or "" if it is nothing of the sort."""
    if rule.needs and node.child_by_field_name(rule.needs) is None:
        return ""
    if rule.values:
        value = follow(node, rule.value)
        return rule.values.get(value.type, rule.kind) if value else rule.kind
    if rule.words:
        head = source[node.start_byte : node.start_byte + HEAD_BYTES].decode(errors="replace")
        if rule.pattern:
            return rule.words.get(re.split(r"[\s(]", head, maxsplit=1)[0], "")
        before_name = head.split("{", 1)[0].split(":", 1)[0].split()
        return next((rule.words[word] for word in before_name if word in rule.words), rule.kind)
    return rule.kind


def names_of(
    node: "Node", rule: Rule, grammar: Grammar, kind: str, source: bytes
) -> tuple[str, ...]:
    """The name of ``node``, with its owner's in front where the name says so; or nothing."""
    text = _text_of(node, rule, source)
    if "operator" not in text and kind not in _ARGUMENTS_BELONG_TO_THE_NAME:
        text = _ARGUMENTS.sub("", text)
    text = " ".join(text.split()).strip("\"'` $*&,")
    if not text or len(text) > LONGEST_NAME:
        return ()
    parts = [text]
    if grammar.separator:
        parts = [part.strip() for part in grammar.separator.split(text)]
        parts = [*(part for part in parts[:-1] if part not in _SILENT_OWNERS), parts[-1]]
    if kind == "impl":
        parts = [text.rsplit("::", 1)[-1]]
    if rule.owner and (owner := _owner(node, rule, source)):
        parts.insert(0, owner)
    return tuple(parts) if parts[-1] else ()


def follow(node: "Node", way: str) -> "Node | None":
    """The node at the end of ``way``: fields or types of children, as in `Rule.name`."""
    for alternative in way.split("|"):
        found: Node | None = node
        for step in alternative.split("."):
            if found is not None:
                found = _repeat(found, step[:-1]) if step.endswith("*") else _step(found, step)
        if found is not None:
            return found
    return None


def _text_of(node: "Node", rule: Rule, source: bytes) -> str:
    if rule.pattern:
        head = source[node.start_byte : min(node.end_byte, node.start_byte + HEAD_BYTES)]
        match = rule.pattern.search(head.decode(errors="replace"))
        return match[1] if match else ""
    named = follow(node, rule.name)
    return source[named.start_byte : named.end_byte].decode(errors="replace") if named else ""


def _owner(node: "Node", rule: Rule, source: bytes) -> str:
    owner = node.child_by_field_name(rule.owner)
    if owner is None:
        return ""
    text = source[owner.start_byte : owner.end_byte].decode(errors="replace")
    match = _LAST_WORD.search(text.split("[", 1)[0])
    return match[1] if match else ""


def _step(node: "Node", step: str) -> "Node | None":
    by_field = node.child_by_field_name(step)
    if by_field is not None:
        return by_field
    return next((child for child in node.named_children if child.type == step), None)


def _repeat(node: "Node", step: str) -> "Node | None":
    found = None
    following = node.child_by_field_name(step)
    while following is not None:
        found = following
        following = found.child_by_field_name(step)
        if following is None and found.type in {"parenthesized_declarator", "reference_declarator"}:
            following = next(iter(found.named_children), None)
    return found
