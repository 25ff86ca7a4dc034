"""The frame around every message: who speaks, who is meant, which question it belongs to."""

from typing import Any

import msgspec

from kernel.errors import SUCCESS, KernelError
from kernel.masking.fields import mask_fields

MAIN_SESSION_ID = -1
NO_CALLBACK = -1


class Status(msgspec.Struct, frozen=True):
    """How a request ended; ``message`` is empty on success."""

    code: str
    message: str


SUCCEEDED = Status(SUCCESS, "")


class Envelope(msgspec.Struct, frozen=True, rename="camel"):
    """One line from the front end; ``message`` is kept whole, because replies repeat it."""

    session_id: int
    to_main: bool
    callback_id: int
    is_reply: bool
    message: dict[str, Any]
    status: Any = None

    @property
    def type(self) -> str:
        """The message's own name for what it is."""
        name = self.message["type"]
        return name if isinstance(name, str) else ""

    @property
    def wants_reply(self) -> bool:
        """False for replies and for requests that said nobody waits."""
        return not self.is_reply and self.callback_id != NO_CALLBACK


class Outgoing(msgspec.Struct, frozen=True, rename="camel"):
    """One line to the front end: a reply (with a status) or a request of our own (without)."""

    session_id: int
    to_main: bool
    callback_id: int
    is_reply: bool
    message: Any
    status: Status | msgspec.UnsetType = msgspec.UNSET
    data: Any = msgspec.UNSET


def reply(request: Envelope, data: Any = None, *, echo: dict[str, Any] | None = None) -> Outgoing:
    """The success of a request; ``echo`` holds what the reply's message adds to the request's."""
    return Outgoing(
        session_id=request.session_id,
        to_main=request.to_main,
        callback_id=request.callback_id,
        is_reply=True,
        message=mask_fields(request.message) | (echo or {}),
        status=SUCCEEDED,
        data=msgspec.UNSET if data is None else data,
    )


def failure(request: Envelope, error: KernelError) -> Outgoing:
    """The failure of a request, with the error's code and sentence."""
    return Outgoing(
        session_id=request.session_id,
        to_main=request.to_main,
        callback_id=request.callback_id,
        is_reply=True,
        message=mask_fields(request.message),
        status=Status(error.code, str(error)),
    )


def event(session_id: int, callback_id: int, message: msgspec.Struct) -> Outgoing:
    """A request of our own, to the main process (-1) or to one window."""
    return Outgoing(
        session_id=session_id,
        to_main=session_id == MAIN_SESSION_ID,
        callback_id=callback_id,
        is_reply=False,
        message=message,
    )
