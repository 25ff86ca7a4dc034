"""What a model is told of its tools, without a word of the tools that it does not have."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from kernel.agent.registry import Registry
from kernel.domain.chat import ToolSpec

_SENTENCES = re.compile(r"(?<=\.)\s+")
_CLAUSES = re.compile(r"(?=, |: |; )")


def specs_of(registry: Registry, everything: Collection[str]) -> tuple[ToolSpec, ...]:
    """The tools of a registry; descriptions leave out what ``everything`` has besides."""
    hidden = [name for name in everything if name not in registry and is_only_a_name(name)]
    specs = registry.specs()
    if not hidden:
        return specs
    names = re.compile(rf"\b(?:{'|'.join(map(re.escape, hidden))})\b")
    return tuple(
        replace(
            spec,
            description=_without(spec.description, names),
            parameters=_schema_without(spec.parameters, names),
        )
        for spec in specs
    )


def is_only_a_name(name: str) -> bool:
    """Whether a name is no word of a sentence, as "search" and "Edit" are."""
    return "_" in name or not name[1:].islower()


def _schema_without(schema: Mapping[str, Any], names: re.Pattern[str]) -> dict[str, Any]:
    return {key: _node_without(key, node, names) for key, node in schema.items()}


def _node_without(key: str, node: Any, names: re.Pattern[str]) -> Any:
    if isinstance(node, dict):
        return _schema_without(node, names)
    if isinstance(node, list):
        return [_node_without("", each, names) for each in node]
    return _without(node, names) if key == "description" and isinstance(node, str) else node


def _without(text: str, names: re.Pattern[str]) -> str:
    """The text up to the clause that names such a tool, sentence by sentence."""
    if not names.search(text):
        return text
    kept = (_clauses_before(sentence, names) for sentence in _SENTENCES.split(text))
    return " ".join(filter(None, kept)) or names.sub("another tool", text)


def _clauses_before(sentence: str, names: re.Pattern[str]) -> str:
    if not names.search(sentence):
        return sentence
    kept = []
    for clause in _CLAUSES.split(sentence):
        if names.search(clause):
            break
        kept.append(clause)
    end = "." if kept and sentence.endswith(".") else ""
    return "".join(kept).rstrip() + end
