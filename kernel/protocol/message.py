"""What it takes to be a message: a frozen declaration, camelCase outside, named by its tag."""

from typing import Any

import msgspec


class Message(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type"):
    """Something that is said; each subclass gives its name as ``tag``."""


class Data(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The ``data`` of a reply, or a part of it."""


def type_of(declaration: type[Message]) -> str:
    """The message type as it stands on the wire."""
    tag: Any = declaration.__struct_config__.tag
    return str(tag)
