"""What a model wrote -> a tool's arguments, with the names it is likely to write them under."""

import dataclasses
import difflib
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from kernel.agent.failing import ToolFailed
from kernel.errors import WrongParam
from kernel.protocol.tool_arguments import converted, object_of

A = TypeVar("A")

Given = Mapping[str, Any] | str | bytes
# "startline" is start_line mistyped, "projectKey" is nothing that a tool knows.
_ALMOST_THE_SAME = 0.85


def decoded(declaration: type[A], given: Given) -> A:
    """The arguments; ToolFailed says which field is wrong, and why.

    Names may be written ``start_line`` or ``startLine``, and as the declaration's ALIASES say.
    What no tool knows is left out, but not a misspelt name: that would do something else than was
    meant.
    """
    try:
        fields = object_of(given) if isinstance(given, str | bytes) else given
        return converted(declaration, _named(declaration, fields))
    except WrongParam as error:
        raise ToolFailed(f"Wrong arguments. {error}") from None


def _named(declaration: type[object], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields under their own names; null means that an optional field was left out."""
    known = {field.name: field for field in dataclasses.fields(declaration)}  # type: ignore[arg-type]
    spoken = {_plain(name): name for name in known}
    spoken |= {_plain(alias): name for alias, name in getattr(declaration, "ALIASES", {}).items()}
    named: dict[str, Any] = {}
    for written, value in fields.items():
        name = written if written in known else spoken.get(_plain(written))
        if name is None:
            _must_be_strange(written, known)
        elif name not in named or written == name:
            named[name] = value
    return {
        name: value
        for name, value in named.items()
        if value is not None or _is_required(known[name])
    }


def _is_required(field: "dataclasses.Field[Any]") -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _must_be_strange(written: str, known: Iterable[str]) -> None:
    meant = difflib.get_close_matches(written.lower(), known, 1, _ALMOST_THE_SAME)
    if meant:
        raise WrongParam(f"`{written}` is no field of this tool: `{meant[0]}` is.")


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
