"""The envelope of every line (session, callback id, status).

The base classes of message and reply declarations, and the builders of replies, failures and
requests of the kernel.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from codekernel.errors import SUCCESS, KernelError
from codekernel.masking.message_fields import mask_secret_fields


class Message(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type"):
    """A message; each subclass gives its type as ``tag``."""


class ReplyData(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The ``data`` of a reply, or a part of it."""


def get_message_type(declaration: type[Message]) -> str:
    """The message type as it stands on the wire."""
    tag: Any = declaration.__struct_config__.tag
    return str(tag)


# The last whole number that a JavaScript front end counts exactly; it names a file too.
MAX_CONVERSATION_ID = 2**53 - 1

ConversationId = Annotated[int, Meta(ge=0, le=MAX_CONVERSATION_ID)]

MAIN_SESSION_ID = -1

NO_CALLBACK_ID = -1


class ReplyStatus(msgspec.Struct, frozen=True):
    """How a request ended; ``message`` is empty on success."""

    code: str
    message: str


SUCCESS_STATUS = ReplyStatus(SUCCESS, "")


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
        """False for replies and for requests with callbackId -1."""
        return not self.is_reply and self.callback_id != NO_CALLBACK_ID


class OutgoingEnvelope(msgspec.Struct, frozen=True, rename="camel"):
    """One line to the front end: a reply (with a status) or a request of our own (without)."""

    session_id: int
    to_main: bool
    callback_id: int
    is_reply: bool
    message: Any
    status: ReplyStatus | msgspec.UnsetType = msgspec.UNSET
    data: Any = msgspec.UNSET


def build_reply(
    request: Envelope, data: Any = None, *, echo: dict[str, Any] | None = None
) -> OutgoingEnvelope:
    """The success of a request; ``echo`` holds what the reply's message adds to the request's."""
    return OutgoingEnvelope(
        session_id=request.session_id,
        to_main=request.to_main,
        callback_id=request.callback_id,
        is_reply=True,
        message=mask_secret_fields(request.message) | (echo or {}),
        status=SUCCESS_STATUS,
        data=msgspec.UNSET if data is None else data,
    )


def build_failure(request: Envelope, error: KernelError) -> OutgoingEnvelope:
    """The failure of a request, with the error's code and sentence."""
    return OutgoingEnvelope(
        session_id=request.session_id,
        to_main=request.to_main,
        callback_id=request.callback_id,
        is_reply=True,
        message=mask_secret_fields(request.message),
        status=ReplyStatus(error.code, str(error)),
    )


def build_request(session_id: int, callback_id: int, message: msgspec.Struct) -> OutgoingEnvelope:
    """A request of our own, to the main process (-1) or to one window."""
    return OutgoingEnvelope(
        session_id=session_id,
        to_main=session_id == MAIN_SESSION_ID,
        callback_id=callback_id,
        is_reply=False,
        message=message,
    )
