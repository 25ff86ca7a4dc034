"""What a table of a language can say: which nodes are definitions, and how they are named."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Rule:
    """A node type that defines something.

    ``name`` is the way to the name: fields or types of children, joined by "."; "*" repeats a
    step, "|" separates alternatives. ``values`` maps the type of the node at ``value`` to a kind
    that replaces ``kind``; if ``kind`` is empty, only those count. ``words`` does the same for
    words in front of the name. ``top`` are definitions only outside of functions and classes.
    """

    kind: str
    name: str = "name"
    value: str = "value"
    values: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    # Where the type stands that a method belongs to, if it is not around it.
    owner: str = ""
    # A text the name is found in, for grammars that do not know about definitions.
    pattern: re.Pattern[str] | None = None
    top: bool = False
    # Without this child a node only mentions what is defined elsewhere: struct S *s.
    needs: str = ""
    introduces: bool = True


@dataclass(frozen=True, slots=True)
class Grammar:
    """One language. ``package`` is the wheel's module and ``entry`` its function."""

    package: str
    rules: Mapping[str, Rule]
    entry: str = "language"
    # Nodes that wrap a definition: an export, a template, decorators. Their start is its start.
    wrappers: frozenset[str] = frozenset()
    # Nodes that belong to the next one, besides comments.
    leads: frozenset[str] = frozenset()
    # What separates the names of a qualified name.
    separator: re.Pattern[str] | None = None
    # Neighbours of the same name are clauses of one definition.
    clauses: bool = False
    # Elements whose content is in another language.
    embeds: Mapping[str, str] = field(default_factory=dict)


def kinds(**types: str) -> dict[str, Rule]:
    """Rules for nodes whose name is in their field "name": type=kind."""
    return {node_type: Rule(kind) for node_type, kind in types.items()}
