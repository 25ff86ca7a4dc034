"""The envelope of every line (session, callback id, status), and its JSON codec (ASCII only).

The base classes of message and reply declarations, the builders of replies, failures and requests
of the kernel, what can be recovered of a malformed line, and JSON files that may hold lone
surrogates.
"""

import codecs
import json
import re
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from codekernel.domain.untrusted_text import JsonTooDeepError, check_json_depth, parse_json
from codekernel.errors import SUCCESS, KernelError, WrongParam
from codekernel.protocol import MAIN_SESSION_ID, NO_CALLBACK_ID


class Message(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type"):
    """A message; each subclass gives its type as ``tag``."""


class ReplyData(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The ``data`` of a reply, or a part of it."""


def get_message_type(declaration: type[Message]) -> str:
    """The message type as it stands on the wire."""
    return str(declaration.__struct_config__.tag)


# The last whole number that a JavaScript front end counts exactly; it names a file too.
MAX_CONVERSATION_ID = 2**53 - 1

ConversationId = Annotated[int, Meta(ge=0, le=MAX_CONVERSATION_ID)]


class ReplyStatus(msgspec.Struct, frozen=True):
    """How a request ended; ``message`` is empty on success."""

    code: str
    message: str


SUCCESS_STATUS = ReplyStatus(SUCCESS, "")


class _Frame(msgspec.Struct, frozen=True, rename="camel"):
    """What every line begins with."""

    session_id: int
    to_main: bool
    callback_id: int
    is_reply: bool


class Envelope(_Frame, frozen=True):
    """One line from the front end; ``message`` is kept whole, because replies repeat it."""

    message: dict[str, Any]
    status: Any = None
    line_bytes: Any = 0  # of the line it came in; whatever that says is overwritten

    @property
    def type(self) -> str:
        """The message's own name for what it is."""
        name: str = self.message["type"]
        return name

    @property
    def wants_reply(self) -> bool:
        """False for replies and for requests with callbackId -1."""
        return not self.is_reply and self.callback_id != NO_CALLBACK_ID


class OutgoingEnvelope(_Frame, frozen=True):
    """One line to the front end: a reply (with a status) or a request of our own (without)."""

    message: Any
    status: ReplyStatus | msgspec.UnsetType = msgspec.UNSET
    data: Any = msgspec.UNSET


FIELD_MASK = "***"

# Names under which clients send API keys, in lower case.
SECRET_FIELD_NAMES = frozenset({"api", "apikey", "api_key"})


def build_reply(
    request: Envelope,
    data: Any = None,
    *,
    echo: dict[str, Any] | None = None,
    status: ReplyStatus = SUCCESS_STATUS,
) -> OutgoingEnvelope:
    """The reply to a request; ``echo`` holds what its message adds to the request's."""
    return OutgoingEnvelope(
        session_id=request.session_id,
        to_main=request.to_main,
        callback_id=request.callback_id,
        is_reply=True,
        message=_mask_secret_fields(request.message) | (echo or {}),
        status=status,
        data=msgspec.UNSET if data is None else data,
    )


def build_failure(request: Envelope, error: KernelError) -> OutgoingEnvelope:
    """The failure of a request, with the error's code and sentence."""
    return build_reply(request, status=ReplyStatus(error.code, str(error)))


def _mask_secret_fields(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message without the values of its secret fields, whatever these are."""
    return {
        key: FIELD_MASK if key.lower() in SECRET_FIELD_NAMES else value
        for key, value in message.items()
    }


def build_request(session_id: int, callback_id: int, message: msgspec.Struct) -> OutgoingEnvelope:
    """A request of our own, to the main process (-1) or to one window."""
    return OutgoingEnvelope(
        session_id=session_id,
        to_main=session_id == MAIN_SESSION_ID,
        callback_id=callback_id,
        is_reply=False,
        message=message,
    )


_decoder = msgspec.json.Decoder(Envelope)

_encoder = msgspec.json.Encoder()

M = TypeVar("M", bound=msgspec.Struct)

Converted = TypeVar("Converted")


def convert_values(values: object, kind: type[Converted]) -> Converted:
    """Convert between structs of this package and dataclasses with the same field names."""
    return msgspec.convert(values, kind, from_attributes=True)


def decode_data(data: object, kind: type[Converted]) -> Converted:
    """Decode the ``data`` of a reply; raises WrongParam."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise WrongParam(f"a reply of the kernel cannot be read: {error}") from None


def decode_envelope(line: bytes) -> Envelope:
    """Decode the envelope in one line; raises WrongParam."""
    try:
        envelope = _decoder.decode(line)
        msgspec.structs.force_setattr(envelope, "line_bytes", len(line))
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
    if not isinstance(error, UnicodeEncodeError):
        raise error
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
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        message = {"type": ""}
    return Envelope(
        session_id=_to_integer(fields.get("sessionId"), MAIN_SESSION_ID),
        to_main=fields.get("toMain") is not False,
        callback_id=_to_integer(fields.get("callbackId"), NO_CALLBACK_ID),
        is_reply=False,
        message=message,
    )


def _parse_fields(line: bytes) -> dict[str, Any]:
    """Return the top-level fields, by a more lenient parser or else by a search for them."""
    try:
        parsed = parse_json(line)
    except ValueError:
        # The two that matter stand before ``message``, whose text can contain anything.
        frame = line.split(b'"message"', 1)[0]
        found = _CALLBACK_ID.search(frame)
        callback = {"callbackId": int(found[1])} if found else {}
        return {"isReply": _IS_REPLY.search(frame) is not None, **callback}
    return parsed if isinstance(parsed, dict) else {}


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
