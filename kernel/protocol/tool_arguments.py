"""What a tool takes: a frozen dataclass <-> JSON, and the JSON schema by which a model learns it.

A field says what it is for with ``Annotated[int, about("the first line, from 1", least=1)]``.
"""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec

from kernel.domain.safe_json import NestedTooDeeplyError, check_depth
from kernel.errors import WrongParam

A = TypeVar("A")

Schema = dict[str, Any]

# For fields that may also be left out: bounds belong to the number, not to the choice.
Positive = Annotated[int, msgspec.Meta(ge=1)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(ge=0)]


def about(purpose: str, *, least: int | None = None, most: int | None = None) -> msgspec.Meta:
    """What a field is for, and between which numbers it may lie."""
    return msgspec.Meta(description=purpose, ge=least, le=most)


def schema_of(declaration: type[object]) -> Schema:
    """The JSON schema of an object with these fields; nothing in it refers to elsewhere."""
    whole = msgspec.json.schema(declaration)
    schema = _inlined(whole, whole.get("$defs", {}))
    assert isinstance(schema, dict)  # noqa: S101 - an object's schema is one
    schema.setdefault("properties", {})
    return schema


def object_of(text: str | bytes) -> dict[str, Any]:
    """The arguments as a model writes them; WrongParam if that is no JSON object."""
    try:
        value = msgspec.json.decode(text) if text.strip() else {}
        check_depth(value)
    except (NestedTooDeeplyError, RecursionError):
        raise WrongParam("The arguments are nested too deeply.") from None
    except (msgspec.DecodeError, UnicodeError) as error:
        raise WrongParam(f"The arguments are no valid JSON: {error}.") from None
    if not isinstance(value, dict):
        raise WrongParam("The arguments must be a JSON object with the fields of the tool.")
    return value


def converted(declaration: type[A], fields: Mapping[str, object]) -> A:
    """The declared value; WrongParam names the field and what was expected there.

    Models write numbers and truths as texts now and then: "10" is taken for 10.
    """
    try:
        return msgspec.convert(dict(fields), declaration, strict=False)
    except msgspec.ValidationError as error:
        raise WrongParam(_said_of_field(str(error))) from None
    except RecursionError:
        raise WrongParam("The arguments are nested too deeply.") from None


def _said_of_field(error: str) -> str:
    """``Expected `int` - at `$.n` `` as ``n: expected `int```."""
    what, at, place = error.partition(" - at `$")
    if not at:
        return what
    return f"`{place.rstrip('`').lstrip('.')}`: {what[0].lower()}{what[1:]}"


def _inlined(node: object, definitions: Mapping[str, Any]) -> object:
    """The schema with each reference replaced by what it refers to; ours are never circular."""
    if isinstance(node, list | tuple):
        return [_inlined(each, definitions) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        name = str(node["$ref"]).rpartition("/")[2]
        rest = {key: value for key, value in node.items() if key not in {"$ref", "$defs"}}
        return _inlined({**definitions[name], **rest}, definitions)
    return {
        key: _inlined(value, definitions)
        for key, value in node.items()
        if key not in {"$defs", "title"} or (key == "title" and isinstance(value, dict))
    }
