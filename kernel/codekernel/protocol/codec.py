"""JSON codec: lines to envelopes and back (ASCII only), declared messages.

What can be recovered of a malformed line, and JSON files that may hold lone surrogates.
"""

import codecs
import json
import re
from typing import Any, TypeVar

import msgspec

from codekernel.domain.untrusted_text import JsonTooDeepError, check_json_depth, parse_json
from codekernel.errors import WrongParam
from codekernel.protocol.envelope import (
    MAIN_SESSION_ID,
    NO_CALLBACK_ID,
    Envelope,
    OutgoingEnvelope,
    ReplyData,
)

_decoder = msgspec.json.Decoder(Envelope)

_encoder = msgspec.json.Encoder()

M = TypeVar("M", bound=msgspec.Struct)


def decode_envelope(line: bytes) -> Envelope:
    """Decode the envelope in one line; raises WrongParam."""
    try:
        envelope = _decoder.decode(line)
        check_json_depth(envelope.message)
    except (JsonTooDeepError, RecursionError):
        raise WrongParam("Invalid message format, parser error: nested too deeply") from None
    except UnicodeDecodeError as error:
        reason = f"byte {error.object[error.start]:#04x} is not UTF-8"
        raise WrongParam(f"Invalid message format, parser error: {reason}") from None
    except msgspec.DecodeError as error:
        raise WrongParam(f"Invalid message format, parser error: {error}") from None
    if not isinstance(envelope.message.get("type"), str):
        raise WrongParam("Invalid message format: message.type must be a string")
    return envelope


def decode_message(declaration: type[M], message: dict[str, Any]) -> M:
    """Convert the message of an envelope; WrongParam names the field and what was expected."""
    try:
        return msgspec.convert(message, declaration)
    except msgspec.ValidationError as error:
        raise WrongParam(str(error).replace("`$.", "`message.")) from None


def encode_ascii_json(outgoing: OutgoingEnvelope | ReplyData) -> bytes:
    """Encode one line, or a part of one, in ASCII, newline not included.

    ASCII because the front end decodes each chunk of the pipe by itself, which breaks any longer
    character that happens to straddle two chunks.
    """
    line = dump_json(outgoing)
    if not line.isascii():
        line = line.decode().encode("ascii", "json_escape")
    # DEL is the one control character of ASCII that JSON need not escape.
    return line.replace(b"\x7f", b"\\u007f") if b"\x7f" in line else line


def _escape_non_ascii(error: UnicodeError) -> tuple[str, int]:
    """Write the characters that ASCII lacks as JSON escapes."""
    assert isinstance(error, UnicodeEncodeError)  # noqa: S101 - what the codec machinery promises
    escaped = json.dumps(error.object[error.start : error.end])
    return escaped[1:-1], error.end


codecs.register_error("json_escape", _escape_non_ascii)

_CALLBACK_ID = re.compile(rb'"callbackId"\s*:\s*(-?\d{1,18})\s*[,}\r\n]')

_IS_REPLY = re.compile(rb'"isReply"\s*:\s*true')


def recover_envelope(line: bytes) -> Envelope | None:
    """Return the envelope to answer a malformed line with; None if no answer is expected."""
    fields = _parse_fields(line)
    if fields.get("isReply") is True or fields.get("callbackId") == NO_CALLBACK_ID:
        return None
    message = fields.get("message")
    typed = isinstance(message, dict) and isinstance(message.get("type"), str)
    return Envelope(
        session_id=_to_integer(fields.get("sessionId"), MAIN_SESSION_ID),
        to_main=fields.get("toMain") is not False,
        callback_id=_to_integer(fields.get("callbackId"), NO_CALLBACK_ID),
        is_reply=False,
        message=message if typed and isinstance(message, dict) else {"type": ""},
    )


def _parse_fields(line: bytes) -> dict[str, Any]:
    """Return the top-level fields, by a more lenient parser or else by a search for them."""
    try:
        parsed = parse_json(line)
    except ValueError:
        return _scan_fields(line)
    return parsed if isinstance(parsed, dict) else {}


def _scan_fields(line: bytes) -> dict[str, Any]:
    """Find the two fields that matter before ``message``, whose text can contain anything."""
    frame = line.split(b'"message"', 1)[0]
    found = _CALLBACK_ID.search(frame)
    seen: dict[str, Any] = {"isReply": _IS_REPLY.search(frame) is not None}
    if found:
        seen["callbackId"] = int(found[1])
    return seen


def _to_integer(value: object, otherwise: int) -> int:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


JSON_INDENT = 4


def dump_json(value: object, *, indented: bool = False) -> bytes:
    """Encode as one line, or indented for people."""
    try:
        content = _encoder.encode(value)
    except UnicodeEncodeError:  # half of a surrogate pair, as in a file name that is not UTF-8
        plain = msgspec.to_builtins(value)
        return json.dumps(plain, indent=JSON_INDENT if indented else None).encode("ascii")
    return msgspec.json.format(content, indent=JSON_INDENT) if indented else content


def load_json(content: bytes) -> Any:
    """Parse JSON; raises ValueError."""
    try:
        value = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError):
        return parse_json(content)
    check_json_depth(value)
    return value
