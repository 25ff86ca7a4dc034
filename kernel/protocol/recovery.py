"""What can be read of a line that is no message, so that its sender need not wait for ever."""

import re
from typing import Any

from kernel.domain.safe_json import parse_json
from kernel.protocol.envelope import MAIN_SESSION_ID, NO_CALLBACK, Envelope

_CALLBACK_ID = re.compile(rb'"callbackId"\s*:\s*(-?\d{1,18})\s*[,}\r\n]')
_IS_REPLY = re.compile(rb'"isReply"\s*:\s*true')


def recover(line: bytes) -> Envelope | None:
    """The envelope to answer a malformed line with; None if nobody waits for an answer."""
    fields = _fields(line)
    if fields.get("isReply") is True or fields.get("callbackId") == NO_CALLBACK:
        return None
    message = fields.get("message")
    typed = isinstance(message, dict) and isinstance(message.get("type"), str)
    return Envelope(
        session_id=_integer(fields.get("sessionId"), MAIN_SESSION_ID),
        to_main=fields.get("toMain") is not False,
        callback_id=_integer(fields.get("callbackId"), NO_CALLBACK),
        is_reply=False,
        message=message if typed and isinstance(message, dict) else {"type": ""},
    )


def _fields(line: bytes) -> dict[str, Any]:
    """The top-level fields, read by a more lenient parser or else by looking for them."""
    try:
        parsed = parse_json(line)
    except ValueError:
        return _glimpsed(line)
    return parsed if isinstance(parsed, dict) else {}


def _glimpsed(line: bytes) -> dict[str, Any]:
    """The two fields that matter, seen before ``message``, whose text could hold anything."""
    frame = line.split(b'"message"', 1)[0]
    found = _CALLBACK_ID.search(frame)
    seen: dict[str, Any] = {"isReply": _IS_REPLY.search(frame) is not None}
    if found:
        seen["callbackId"] = int(found[1])
    return seen


def _integer(value: object, otherwise: int) -> int:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise
