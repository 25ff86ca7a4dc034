"""The kernel client of the web host, and the threads of the host.

Requests become protocol lines, replies are matched by callbackId, failures become JSON. Replies
arrive on one thread that must never block; `request` blocks on any other.
"""

import itertools
import json
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from codekernel.errors import KernelError
from codekernel.protocol import MAIN_SESSION_ID, NO_CALLBACK_ID, READY_CALLBACK_ID
from codekernel.transport.lines import MAX_LINE_BYTES, MemoryChannel, SpooledLine

# As in electron-bridge/src/errors.js.
KERNEL_STOPPED = "KERNEL_STOPPED"

TOO_LARGE = "TOO_LARGE"

SESSION_CLOSED = "SESSION_CLOSED"

FORBIDDEN = "FORBIDDEN"

logger = logging.getLogger(__name__)


def log_crash(error: BaseException) -> None:
    """Log the exception of a thread that has no other handler."""
    logger.error("a thread of the web host failed", exc_info=error)


class CallFailed(Exception):
    """A request that was refused: by the kernel, with its code, or by the web host."""

    def __init__(self, code: str, message: str, done: object = None) -> None:
        """``done`` is how a conversation ended that failed on the way."""
        super().__init__(message)
        self.code = code
        self.done = done


def parse_failure(status: object) -> CallFailed | None:
    """Return the failure in the status of a reply; None for a success."""
    code = status.get("code") if isinstance(status, dict) else None
    if code == "SUCCESS":
        return None
    if not isinstance(status, dict) or not isinstance(code, str):
        return CallFailed("UNKNOW_ERROR", "The kernel answered without a status.")
    return CallFailed(code, str(status.get("message", "")))


def dump_failure(error: BaseException) -> dict[str, Any]:
    """Return a failure as a page receives it."""
    code, message = KernelError.code, "codekernel failed; its log says why."
    if isinstance(error, CallFailed | KernelError):
        code, message = error.code, str(error)
    done = getattr(error, "done", None)
    failure = {"name": "KernelError", "code": code, "message": message}
    return failure if done is None else {**failure, "done": done}


def make_stopped_failure() -> CallFailed:
    """Return the failure of every request that is pending when the kernel stops."""
    return CallFailed(
        KERNEL_STOPPED, "codekernel was stopped: start it again in a terminal (codekernel web)."
    )


def make_closed_failure() -> CallFailed:
    """Return the failure of a request to a closed session."""
    return CallFailed(SESSION_CLOSED, "The repository was closed in this window.")


JsonMessage = dict[str, Any]

# Requests of the kernel that it wants a reply to.
_ACKNOWLEDGED_TYPES = {"ready", "sessionPrepared", "embeddingStatus"}

# Between the frame of a reply and its data. A quote inside a text is escaped, so it stands nowhere
# else in the frame of a request that had no fields.
_DATA_SEPARATOR = b',"data":'


@dataclass(frozen=True, slots=True)
class KernelReply:
    """One reply: ``data``, or ``long_data``, or neither, or a failure.

    ``is_last`` for a failure of the web host, after which the kernel sends no more replies.
    """

    failure: CallFailed | None
    data: Any = None
    long_data: "LongData | None" = None
    is_last: bool = False


class LongData:
    """The data of a reply too long for memory, as JSON; read once, piece by piece."""

    def __init__(self, line: SpooledLine) -> None:
        pieces = line.iter_pieces()
        head, _, rest = next(pieces).partition(_DATA_SEPARATOR)
        self.frame = json.loads(head + b"}")
        self._pieces = itertools.chain((rest,), pieces)

    def pieces(self, before: bytes) -> "itertools.chain[bytes]":
        """``before``, the data, and the brace that ends the object around both."""
        return itertools.chain((before,), self._pieces)


# Takes a reply to one request; whether it was the last. Must not block.
ReplyListener = Callable[[KernelReply], bool]


class KernelClient:
    """Requests to the kernel, for all tabs."""

    def __init__(self, channel: MemoryChannel) -> None:
        self._channel = channel
        self._ids = itertools.count(1)
        # By callbackId: the session and who gets the replies.
        self._pending: dict[int, tuple[int, ReplyListener]] = {}
        self._lock = threading.Lock()
        self._is_closed = False

    def run(self, on_event: Callable[[int, JsonMessage], bool]) -> None:
        """Read what the kernel sends; ``on_event`` returns whether it knows the session."""
        self._acknowledge(MAIN_SESSION_ID, READY_CALLBACK_ID, {"type": "ready"}, known=True)
        try:
            for line in self._channel.iter_sent():
                try:
                    self._handle_line(line, on_event)
                except json.JSONDecodeError:
                    logger.warning("half a line of a kernel that died is left out")
        finally:
            with self._lock:
                self._is_closed = True
            self._fail_requests(lambda *_: True, make_stopped_failure())

    def send_request(
        self, session_id: int, message_type: str, fields: JsonMessage, listener: ReplyListener
    ) -> None:
        """Send a request; the listener gets its replies, or the reason why there are none."""
        callback_id, message = next(self._ids), {**fields, "type": message_type}
        line = _encode_line(session_id, callback_id, message)
        if len(line) > MAX_LINE_BYTES:
            raise CallFailed(TOO_LARGE, f"{message_type} has more than 16 MiB; send less.")
        with self._lock:
            if self._is_closed:
                raise make_stopped_failure()
            self._pending[callback_id] = (session_id, listener)
        if not self._channel.post(line, urgent=message_type == "stopConversation"):
            self._fail_requests(lambda id_, _: id_ == callback_id, make_stopped_failure())

    def request(self, session_id: int, message_type: str, fields: JsonMessage | None = None) -> Any:
        """Return the data of the one reply to a request. Raises CallFailed."""
        arrived: Future[KernelReply] = Future()

        def on_reply(reply: KernelReply) -> bool:
            if not arrived.done():
                arrived.set_result(reply)
            return True

        self.send_request(session_id, message_type, fields or {}, on_reply)
        reply = arrived.result()
        if reply.failure:
            raise reply.failure
        return reply.data

    def notify(self, session_id: int, message_type: str, fields: JsonMessage) -> None:
        """Send a message that gets no reply."""
        message = {**fields, "type": message_type}
        self._channel.post(_encode_line(session_id, NO_CALLBACK_ID, message), urgent=True)

    def cancel_requests(self, session_id: int, reason: CallFailed) -> None:
        """Fail the pending requests to a session."""
        self._fail_requests(lambda _, session: session == session_id, reason)

    def _handle_line(
        self, line: bytes | SpooledLine, on_event: Callable[[int, JsonMessage], bool]
    ) -> None:
        if isinstance(line, SpooledLine):
            long_data = LongData(line)
            self._deliver_reply(long_data.frame, KernelReply(None, long_data=long_data))
            return
        envelope = json.loads(line)
        if envelope["isReply"]:
            reply = KernelReply(parse_failure(envelope.get("status")), envelope.get("data"))
            self._deliver_reply(envelope, reply)
            return
        session_id, message = envelope["sessionId"], envelope["message"]
        known = on_event(session_id, message)
        if message["type"] in _ACKNOWLEDGED_TYPES:
            self._acknowledge(session_id, envelope["callbackId"], message, known=known)

    def _deliver_reply(self, envelope: JsonMessage, reply: KernelReply) -> None:
        callback_id = envelope["callbackId"]
        with self._lock:
            pending = self._pending.get(callback_id)
        if pending and pending[1](reply):
            with self._lock:
                self._pending.pop(callback_id, None)

    def _acknowledge(
        self, session_id: int, callback_id: int, message: JsonMessage, *, known: bool
    ) -> None:
        status = {"code": "SUCCESS", "message": ""}
        if not known:
            status = {"code": "SESSION_NOT_FOUND", "message": "No window has this session."}
        line = _encode_line(session_id, callback_id, {"type": message["type"]}, status)
        self._channel.post(line, urgent=True)

    def _fail_requests(self, is_meant: Callable[[int, int], bool], reason: CallFailed) -> None:
        """Fail the pending requests that ``is_meant`` picks by callbackId and session."""
        with self._lock:
            failing = [id_ for id_, (session, _) in self._pending.items() if is_meant(id_, session)]
            listeners = [self._pending.pop(id_)[1] for id_ in failing]
        for listener in listeners:
            listener(KernelReply(reason, is_last=True))


def _encode_line(
    session_id: int,
    callback_id: int,
    message: JsonMessage,
    status: dict[str, str] | None = None,
) -> bytes:
    """Encode a request, or with a status a reply."""
    envelope = {
        "sessionId": session_id,
        "toMain": session_id == MAIN_SESSION_ID,
        "callbackId": callback_id,
        "isReply": status is not None,
        "message": message,
    }
    return json.dumps(envelope if status is None else {**envelope, "status": status}).encode()
