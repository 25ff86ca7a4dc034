"""Requests of the kernel to the front end, and those not confirmed yet."""

import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Callable
from itertools import takewhile

from codekernel.protocol import NO_CALLBACK_ID
from codekernel.protocol.envelope import (
    Message,
    build_request,
    encode_ascii_json,
    get_message_type,
)
from codekernel.transport.lines import SpooledLine

logger = logging.getLogger(__name__)

CONFIRM_TIMEOUT_SECONDS = 60.0

# Deadlines are rounded up to this: a front end that confirms nothing while a large repository is
# indexed leaves hundreds of messages a second, which then expire together.
DEADLINE_INTERVAL_SECONDS = 1.0

SendLine = Callable[[bytes | SpooledLine], None]


class PendingReplies:
    """The requests of the kernel that wait for a reply, each with a deadline."""

    def __init__(
        self,
        first_id: int,
        timeout_seconds: float = CONFIRM_TIMEOUT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._next_id = first_id
        self._timeout_seconds = timeout_seconds
        self._clock = clock
        self._waiting: dict[int, tuple[str, float]] = {}  # in order of deadline
        self._lock = threading.Lock()

    def allocate_callback_id(self) -> int:
        """Return a callbackId that this run has not used."""
        with self._lock:
            self._next_id += 1
            return self._next_id - 1

    def expect(self, message_type: str) -> int:
        """Return a new callbackId and wait for its reply."""
        callback_id = self.allocate_callback_id()
        with self._lock:
            steps = math.ceil((self._clock() + self._timeout_seconds) / DEADLINE_INTERVAL_SECONDS)
            self._waiting[callback_id] = (message_type, steps * DEADLINE_INTERVAL_SECONDS)
        return callback_id

    def settle(self, callback_id: int) -> str | None:
        """Return the type of the request this reply belongs to; None if it is not expected."""
        with self._lock:
            waiting = self._waiting.pop(callback_id, None)
        return waiting[0] if waiting else None

    def expire(self) -> list[str]:
        """Drop what is overdue, and return its message types."""
        now = self._clock()
        with self._lock:
            # Only up to the first that is in time: tens of thousands may wait behind it.
            overdue = list(takewhile(lambda each: each[1][1] <= now, self._waiting.items()))
            for callback_id, _ in overdue:
                del self._waiting[callback_id]
        types = [message_type for _, (message_type, _) in overdue]
        for message_type, count in Counter(types).items():
            logger.warning("the front end never confirmed %d of %s", count, message_type)
        return types

    def seconds_to_next_deadline(self) -> float | None:
        """Return how long until ``expire`` has something to do; None while nothing waits."""
        with self._lock:
            for _, deadline in self._waiting.values():
                return max(0.0, deadline - self._clock())
        return None


class NotificationSender:
    """Sends messages of the kernel to the main process (-1) or to a window."""

    def __init__(self, pending: PendingReplies, send: SendLine) -> None:
        self._pending = pending
        self._send = send

    def send_confirmed(self, session_id: int, message: Message) -> None:
        """Send a message that must be confirmed."""
        callback_id = self._pending.expect(get_message_type(type(message)))
        self._send(encode_ascii_json(build_request(session_id, callback_id, message)))

    def send_unanswered(self, session_id: int, message: Message) -> None:
        """Send a message with the callbackId that no reply is wanted for."""
        self._send(encode_ascii_json(build_request(session_id, NO_CALLBACK_ID, message)))

    def send_unconfirmed(self, session_id: int, message: Message) -> None:
        """Send a message that needs no confirmation."""
        logger.warning("%s to %d", get_message_type(type(message)), session_id)
        callback_id = self._pending.allocate_callback_id()
        self._send(encode_ascii_json(build_request(session_id, callback_id, message)))
