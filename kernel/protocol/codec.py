"""Lines of bytes <-> envelopes, and the dictionary in an envelope <-> a declared message."""

import codecs
import json
from typing import Any, TypeVar

import msgspec

from kernel.domain.safe_json import NestedTooDeeplyError, check_depth
from kernel.errors import WrongParam
from kernel.protocol.envelope import Envelope, Outgoing
from kernel.protocol.message import Data

_decoder = msgspec.json.Decoder(Envelope)
_encoder = msgspec.json.Encoder()

M = TypeVar("M", bound=msgspec.Struct)


def decode_line(line: bytes) -> Envelope:
    """The envelope in one line; WrongParam says what is wrong with it."""
    try:
        envelope = _decoder.decode(line)
        check_depth(envelope.message)
    except (NestedTooDeeplyError, RecursionError):
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
    """The declared message in an envelope; WrongParam names the field and what was expected."""
    try:
        return msgspec.convert(message, declaration)
    except msgspec.ValidationError as error:
        raise WrongParam(str(error).replace("`$.", "`message.")) from None


def encode(outgoing: Outgoing | Data) -> bytes:
    """One line, or a part of one, of ASCII, newline not included.

    ASCII because the front end decodes each chunk of the pipe by itself, which breaks any longer
    character that happens to straddle two chunks.
    """
    try:
        line = _encoder.encode(outgoing)
    except UnicodeEncodeError:  # half of a surrogate pair, as in a file name that is not UTF-8
        return json.dumps(msgspec.to_builtins(outgoing)).encode("ascii")
    if not line.isascii():
        line = line.decode().encode("ascii", "json_escape")
    # DEL is the one control character of ASCII that JSON need not escape.
    return line.replace(b"\x7f", b"\\u007f") if b"\x7f" in line else line


def _json_escape(error: UnicodeError) -> tuple[str, int]:
    """Write the characters that ASCII lacks as JSON escapes."""
    assert isinstance(error, UnicodeEncodeError)  # noqa: S101 - what the codec machinery promises
    escaped = json.dumps(error.object[error.start : error.end])
    return escaped[1:-1], error.end


codecs.register_error("json_escape", _json_escape)
