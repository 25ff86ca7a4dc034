"""Requests of our own to the front end."""

import logging

from kernel.dispatch.answering import SendLine
from kernel.dispatch.pending import PendingReplies
from kernel.protocol.codec import encode
from kernel.protocol.envelope import event
from kernel.protocol.message import Message, type_of

logger = logging.getLogger(__name__)


class Announcer:
    """Says things to the main process (-1) or to a window."""

    def __init__(self, pending: PendingReplies, send: SendLine) -> None:
        self._pending = pending
        self._send = send

    def ask(self, session_id: int, message: Message) -> None:
        """Send a message whose confirmation is waited for."""
        callback_id = self._pending.expect(type_of(type(message)))
        self._send(encode(event(session_id, callback_id, message)))

    def shout(self, session_id: int, message: Message) -> None:
        """Send a message that needs no confirmation."""
        logger.warning("%s to %d", type_of(type(message)), session_id)
        self._send(encode(event(session_id, self._pending.fresh_id(), message)))
