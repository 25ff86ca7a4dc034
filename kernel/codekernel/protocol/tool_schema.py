"""Tool arguments: the JSON schema of a frozen dataclass.

Conversion of a model's JSON into it. The class's docstring describes a field in a line of its own,
``path: the file to read``, after a blank line; lines that go on are indented.
"""

import inspect
import re
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec

from codekernel.domain.untrusted_text import JsonTooDeepError, check_json_depth
from codekernel.errors import WrongParam

A = TypeVar("A")

JsonSchema = dict[str, Any]

# For fields that may also be left out: bounds belong to the number, not to the choice.
PositiveInt = Annotated[int, msgspec.Meta(ge=1)]

NonNegativeInt = Annotated[int, msgspec.Meta(ge=0)]

NonNegativeSeconds = Annotated[float, msgspec.Meta(ge=0)]


# A line of a docstring that describes a field.
_FIELD_DESCRIPTION = re.compile(r"^(\w+): ", re.MULTILINE)


def limit_number(minimum: int, maximum: int) -> msgspec.Meta:
    """Return the annotation of a number between two others, these included."""
    return msgspec.Meta(ge=minimum, le=maximum)


def build_json_schema(declaration: type[object]) -> JsonSchema:
    """The JSON schema of an object with these fields; nothing in it refers to elsewhere."""
    whole = msgspec.json.schema(declaration)
    for definition in whole.get("$defs", {}).values():
        _describe_fields(definition)
    schema = _inline_references(whole, whole.get("$defs", {}))
    return schema if "properties" in schema else {**schema, "properties": {}}


def parse_json_object(text: str | bytes) -> dict[str, Any]:
    """The arguments as a model writes them; WrongParam if that is no JSON object."""
    try:
        value = msgspec.json.decode(text) if text.strip() else {}
        check_json_depth(value)
    except (JsonTooDeepError, RecursionError):
        raise WrongParam("The arguments are nested too deeply.") from None
    except (msgspec.DecodeError, UnicodeError) as error:
        raise WrongParam(f"The arguments are no valid JSON: {error}.") from None
    if not isinstance(value, dict):
        raise WrongParam("The arguments must be a JSON object with the fields of the tool.")
    return value


def convert_arguments(declaration: type[A], fields: Mapping[str, object]) -> A:
    """The declared value; WrongParam names the field and what was expected there.

    Models write numbers and truths as texts now and then: "10" is taken for 10.
    """
    try:
        return msgspec.convert(dict(fields), declaration, strict=False)
    except msgspec.ValidationError as error:
        raise WrongParam(_format_field_error(str(error))) from None
    except RecursionError:
        raise WrongParam("The arguments are nested too deeply.") from None


def _format_field_error(error: str) -> str:
    """``Expected `int` - at `$.n` `` as ``n: expected `int```."""
    what, at, place = error.partition(" - at `$")
    if not at:
        return what
    return f"`{place.rstrip('`').lstrip('.')}`: {what[0].lower()}{what[1:]}"


def _describe_fields(definition: JsonSchema) -> None:
    """Move the descriptions of fields from the class's docstring to the fields."""
    docstring = inspect.cleandoc(definition.get("description", ""))
    summary, *described = _FIELD_DESCRIPTION.split(docstring)
    fields = definition.get("properties", {})
    for name, text in zip(described[::2], described[1::2], strict=True):
        fields[name] = {"description": " ".join(text.split()), **fields[name]}
    if described:
        definition["description"] = summary.strip()


def _inline_references(node: object, definitions: Mapping[str, Any]) -> Any:
    """The schema with each reference replaced by what it refers to; ours are never circular."""
    if isinstance(node, list | tuple):
        return [_inline_references(each, definitions) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        name = str(node["$ref"]).rpartition("/")[2]
        rest = {key: value for key, value in node.items() if key not in {"$ref", "$defs"}}
        return _inline_references({**definitions[name], **rest}, definitions)
    return {
        key: _inline_references(value, definitions)
        for key, value in node.items()
        if key not in {"$defs", "title"} or (key == "title" and isinstance(value, dict))
    }
