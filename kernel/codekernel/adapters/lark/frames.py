"""The frame of Lark's long connection: one protobuf message, and events that come in parts.

The message has nine fields, so it is read and written here; the tests compare with protobuf.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from codekernel.domain.untrusted_text import read_protobuf_fields

CONTROL_METHOD = 0

TYPE_HEADER, MESSAGE_ID_HEADER, COUNT_HEADER, INDEX_HEADER = "type", "message_id", "sum", "seq"

PING_TYPE, PONG_TYPE, EVENT_TYPE = "ping", "pong", "event"

_HEADERS_FIELD = 5

_VARINT, _BYTES = 0, 2

_UINT64_MASK = (1 << 64) - 1

_INT32_SIGN = 1 << 31

# Parts of one event arrive together; the official client forgets them after this time as well.
PARTS_TIMEOUT_SECONDS = 5.0

# Events whose parts are missing, and parts of one event: a peer cannot fill the memory.
MAX_INCOMPLETE_EVENTS = 64

MAX_PARTS = 1024


class FrameDamaged(ValueError):
    """Bytes that are no frame."""


@dataclass(frozen=True, slots=True)
class LarkFrame:
    """``service`` and ``method`` are signed 32-bit numbers; headers keep their order."""

    sequence_id: int = 0
    log_id: int = 0
    service: int = 0
    method: int = CONTROL_METHOD
    headers: tuple[tuple[str, str], ...] = ()
    payload_encoding: str = ""
    payload_type: str = ""
    payload: bytes = b""
    new_log_id: str = ""

    def get_header(self, name: str) -> str:
        """Return the value of a header, empty if there is none."""
        return next((value for key, value in self.headers if key == name), "")

    def get_number(self, name: str) -> int:
        """Return a header as a number; 0 if it is none."""
        value = self.get_header(name)
        return int(value) if value.isascii() and value.isdecimal() else 0

    def encode(self) -> bytes:
        """Return the bytes; fields that protobuf requires are written also if they are 0."""
        parts = [
            _encode_number(1, self.sequence_id),
            _encode_number(2, self.log_id),
            _encode_number(3, self.service),
            _encode_number(4, self.method),
        ]
        for key, value in self.headers:
            pair = _encode_bytes(1, key.encode()) + _encode_bytes(2, value.encode())
            parts.append(_encode_bytes(_HEADERS_FIELD, pair))
        optional = (
            (6, self.payload_encoding.encode()),
            (7, self.payload_type.encode()),
            (8, self.payload),
            (9, self.new_log_id.encode()),
        )
        parts += [_encode_bytes(number, value) for number, value in optional if value]
        return b"".join(parts)


def decode_frame(data: bytes) -> LarkFrame:
    """Parse the bytes of a frame; unknown fields are ignored. Raises FrameDamaged."""
    numbers: dict[int, int] = {}
    texts: dict[int, bytes] = {}
    headers: list[tuple[str, str]] = []
    try:
        for number, value in read_protobuf_fields(data):
            if isinstance(value, int):
                numbers[number] = value & _UINT64_MASK
            elif number == _HEADERS_FIELD:
                headers.append(_decode_header(value))
            else:
                texts[number] = value
        return LarkFrame(
            numbers.get(1, 0),
            numbers.get(2, 0),
            _read_int32(numbers.get(3, 0)),
            _read_int32(numbers.get(4, 0)),
            tuple(headers),
            texts.get(6, b"").decode(),
            texts.get(7, b"").decode(),
            texts.get(8, b""),
            texts.get(9, b"").decode(),
        )
    except ValueError as error:  # no protobuf message, or a text that is not UTF-8
        raise FrameDamaged(f"the frame {error}") from error


def make_ping(service: int) -> LarkFrame:
    """Return the frame by which a client says that it is there."""
    return LarkFrame(service=service, headers=((TYPE_HEADER, PING_TYPE),))


def make_reply(frame: LarkFrame, payload: bytes, milliseconds: int) -> LarkFrame:
    """Return the answer to an event: its frame, with how long it took and another payload."""
    headers = (*frame.headers, ("biz_rt", str(milliseconds)))
    return replace(frame, headers=headers, payload=payload)


@dataclass
class FrameParts:
    """Joins the events that come in several frames; used by one thread."""

    clock: Callable[[], float] = time.monotonic
    _incomplete: dict[str, tuple[float, list[bytes | None]]] = field(default_factory=dict)

    def join(self, frame: LarkFrame) -> bytes | None:
        """Return the whole payload with the frame that completes it, before that None."""
        count, index = frame.get_number(COUNT_HEADER), frame.get_number(INDEX_HEADER)
        if count <= 1:
            return frame.payload
        if index >= count or count > MAX_PARTS:
            raise FrameDamaged(f"part {index} of {count} cannot be")
        self._forget_old()
        name = frame.get_header(MESSAGE_ID_HEADER)
        _, parts = self._incomplete.get(name, (0.0, [None] * count))
        if len(parts) != count:
            raise FrameDamaged("an event cannot change the number of its parts")
        parts[index] = frame.payload
        if any(part is None for part in parts):
            self._incomplete[name] = (self.clock(), parts)
            return None
        self._incomplete.pop(name, None)
        return b"".join(part for part in parts if part is not None)

    def _forget_old(self) -> None:
        oldest = self.clock() - PARTS_TIMEOUT_SECONDS
        kept = [each for each in self._incomplete.items() if each[1][0] >= oldest]
        self._incomplete = dict(kept[-MAX_INCOMPLETE_EVENTS:])


# Of each byte of a number but the last.
_CONTINUATION_BIT = 0x80


def _encode_varint(value: int) -> bytes:
    value &= _UINT64_MASK  # a negative number is written as its 64-bit complement
    out = bytearray()
    while value >= _CONTINUATION_BIT:  # seven bits per byte
        out.append(value & 0x7F | _CONTINUATION_BIT)
        value >>= 7
    out.append(value)
    return bytes(out)


def _encode_number(number: int, value: int) -> bytes:
    return _encode_varint(number << 3 | _VARINT) + _encode_varint(value)


def _encode_bytes(number: int, value: bytes) -> bytes:
    return _encode_varint(number << 3 | _BYTES) + _encode_varint(len(value)) + value


def _read_int32(value: int) -> int:
    value &= (1 << 32) - 1
    return value - (1 << 32) if value & _INT32_SIGN else value


def _decode_header(data: bytes) -> tuple[str, str]:
    fields = {
        number: value for number, value in read_protobuf_fields(data) if isinstance(value, bytes)
    }
    return fields.get(1, b"").decode(), fields.get(2, b"").decode()
