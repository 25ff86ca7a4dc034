"""Read the fields of a protobuf message without the protobuf library."""

from collections.abc import Iterator
from typing import Any

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

_WIDTHS = {_FIXED64: 8, _FIXED32: 4}

_MAX_VARINT_BYTES = 10  # bytes; a negative number takes them all

_MORE_FOLLOWS = 0x80  # the high bit of all bytes of a varint but the last


class InvalidProtobuf(ValueError):
    """Bytes that are no message; the text, if any, continues after the name of the file."""


def read_protobuf_fields(content: Any) -> Iterator[tuple[int, Any]]:
    """Yield the fields of a protobuf message; of a repeated one, the last counts."""
    at = 0
    while at < len(content):
        key, at = _read_varint(content, at)
        wire = key & 7
        if wire == _VARINT:
            value, at = _read_varint(content, at)
            yield key >> 3, value
            continue
        if wire == _BYTES:
            width, at = _read_varint(content, at)
        elif wire in _WIDTHS:
            width = _WIDTHS[wire]
        else:
            raise InvalidProtobuf("")
        if at + width > len(content):
            raise InvalidProtobuf("is cut short or damaged")
        yield key >> 3, content[at : at + width]
        at += width


def _read_varint(content: bytes, at: int) -> tuple[int, int]:
    if at < len(content) and content[at] < _MORE_FOLLOWS:  # most: a million in a large model
        return content[at], at + 1
    value = 0
    for i, byte in enumerate(content[at : at + _MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << 7 * i
        if byte < _MORE_FOLLOWS:
            return value, at + i + 1
    raise InvalidProtobuf("is cut short or damaged")
