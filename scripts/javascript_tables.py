"""Constants as a JavaScript module, written as Prettier would."""

import json
from typing import Any

WIDTH = 100


def format_module(header: str, tables: dict[str, tuple[str, Any]]) -> str:
    """Return a module that exports the values, each with its comment."""
    declared = (
        _format_declaration(name, comment, value) for name, (comment, value) in tables.items()
    )
    return f"/** {header} */\n\n" + "\n".join(declared)


def _format_declaration(name: str, comment: str, value: Any) -> str:
    kind = "readonly string[]" if isinstance(value, list | tuple) else ""
    if isinstance(value, dict) and name != "CHANNELS":
        (item,) = {type(each) for each in value.values()}
        shown = {str: "string", int: "number", tuple: "readonly string[]"}[item]
        kind = f"Readonly<Record<string, {shown}>>"
    comments = [f"/** {comment} @type {{{kind}}} */" if kind else f"/** {comment} */"]
    start = f"export const {name} ="
    literal = format_literal(value)
    if isinstance(value, str) and len(f"{start} {literal};") > WIDTH:
        return "\n".join([*comments, start, f"  {literal};\n"])
    literal = literal if isinstance(value, str | int) else f"Object.freeze({literal})"
    return "\n".join([*comments, f"{start} {literal};\n"])


def format_literal(value: Any) -> str:
    """Return a JavaScript literal as Prettier writes it, with a line per entry."""
    match value:
        case dict():
            entries = [
                f"{format_key(name)}: {_format_inline(each)}" for name, each in value.items()
            ]
            return "\n".join(["{", *(f"  {entry}," for entry in entries), "}"])
        case list() | tuple():
            return "\n".join(["[", *(f"  {_format_inline(each)}," for each in value), "]"])
    return _format_inline(value)


def _format_inline(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_format_inline, value))}]"
    if isinstance(value, str):
        return json.dumps(value) if "'" in value else f"'{value}'"
    return json.dumps(value)


def format_key(name: str) -> str:
    """Return the key of an object, quoted if it must be."""
    return name if name.isidentifier() else f"'{name}'"
