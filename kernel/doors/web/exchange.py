"""Asking the kernel and being answered: a request becomes a line, replies find who asked.

Replies are heard on one thread, which must not wait for anything; ``ask`` waits, on any other.
"""

import itertools
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from kernel.doors.web.failures import TOO_LARGE, CallFailed, failure_in, stopped
from kernel.protocol.envelope import MAIN_SESSION_ID, NO_CALLBACK
from kernel.protocol.ready import READY_CALLBACK_ID
from kernel.transport.channel import LongLine
from kernel.transport.lines import LINE_LIMIT_BYTES
from kernel.transport.memory import MemoryChannel

Message = dict[str, Any]
# The kernel's own requests that it wants confirmed, once it has been heard.
_CONFIRMED = {"ready", "sessionPrepared", "embeddingStatus"}
# Between the frame of a reply and its data. A quote inside a text is escaped, so it stands nowhere
# else in the frame of a request that had no fields.
_DATA = b',"data":'


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer: ``data``, or ``long_data``, or neither, or a failure.

    ``is_last`` if the door says it, because the kernel will not answer any more.
    """

    failure: CallFailed | None
    data: Any = None
    long_data: "LongData | None" = None
    is_last: bool = False


class LongData:
    """The data of a reply too long for memory, as JSON; read once, piece by piece."""

    def __init__(self, line: LongLine) -> None:
        pieces = line.pieces()
        head, _, rest = next(pieces).partition(_DATA)
        self.frame = json.loads(head + b"}")
        self._pieces = itertools.chain((rest,), pieces)

    def pieces(self, before: bytes) -> "itertools.chain[bytes]":
        """``before``, the data, and the brace that ends the object around both."""
        return itertools.chain((before,), self._pieces)


class Listener(Protocol):
    """Whoever waits for the replies to one request."""

    def hear(self, reply: Reply) -> bool:
        """Take a reply; whether it was the last."""


@dataclass(frozen=True, slots=True)
class _Pending:
    session_id: int
    listener: Listener


class Exchange:
    """The kernel as a tab sees it."""

    def __init__(self, channel: MemoryChannel) -> None:
        self._channel = channel
        self._ids = itertools.count(1)
        self._pending: dict[int, _Pending] = {}
        self._lock = threading.Lock()
        self._ended = False

    def run(self, on_event: Callable[[int, Message], bool]) -> None:
        """Hear the kernel until it closes; ``on_event`` says whether it knows the session."""
        self._confirm(MAIN_SESSION_ID, READY_CALLBACK_ID, {"type": "ready"}, known=True)
        try:
            for line in self._channel.received():
                self._hear(line, on_event)
        finally:
            with self._lock:
                self._ended = True
            self._fail(lambda _: True, stopped())

    def open(self, session_id: int, message_type: str, fields: Message, listener: Listener) -> None:
        """Send a request; the listener gets its replies, or the reason why there are none."""
        line = _line(session_id, callback_id := next(self._ids), message_type, fields)
        if len(line) > LINE_LIMIT_BYTES:
            raise CallFailed(TOO_LARGE, f"{message_type} has more than 16 MiB; send less.")
        with self._lock:
            if self._ended:
                raise stopped()
            self._pending[callback_id] = _Pending(session_id, listener)
        urgent = message_type == "stopConversation"
        if not self._channel.post(line, urgent=urgent):
            self._fail(lambda id_: id_ == callback_id, stopped())

    def ask(self, session_id: int, message_type: str, fields: Message | None = None) -> Any:
        """The data of the one reply to a request; raises CallFailed."""
        answer = _Answer()
        self.open(session_id, message_type, fields or {}, answer)
        return answer.wait()

    def order(self, session_id: int, message_type: str, fields: Message) -> None:
        """Send something whose answer nobody wants."""
        line = _line(session_id, NO_CALLBACK, message_type, fields)
        self._channel.post(line, urgent=True)

    def abandon(self, session_id: int, reason: CallFailed) -> None:
        """Give up on what a session was asked."""
        with self._lock:
            meant = {id_ for id_, each in self._pending.items() if each.session_id == session_id}
        self._fail(lambda id_: id_ in meant, reason)

    def _hear(self, line: bytes | LongLine, on_event: Callable[[int, Message], bool]) -> None:
        if isinstance(line, LongLine):
            long_data = LongData(line)
            self._settle(long_data.frame, Reply(None, long_data=long_data))
            return
        envelope = json.loads(line)
        if envelope["isReply"]:
            reply = Reply(failure_in(envelope.get("status")), envelope.get("data"))
            self._settle(envelope, reply)
            return
        session_id, message = envelope["sessionId"], envelope["message"]
        known = on_event(session_id, message)
        if message["type"] in _CONFIRMED:
            self._confirm(session_id, envelope["callbackId"], message, known=known)

    def _settle(self, envelope: Message, reply: Reply) -> None:
        callback_id = envelope["callbackId"]
        with self._lock:
            pending = self._pending.get(callback_id)
        if pending and pending.listener.hear(reply):
            with self._lock:
                self._pending.pop(callback_id, None)

    def _confirm(self, session_id: int, callback_id: int, message: Message, *, known: bool) -> None:
        status = {"code": "SUCCESS", "message": ""}
        if not known:
            status = {"code": "SESSION_NOT_FOUND", "message": "No window has this session."}
        line = {
            "sessionId": session_id,
            "toMain": session_id == MAIN_SESSION_ID,
            "callbackId": callback_id,
            "isReply": True,
            "message": {"type": message["type"]},
            "status": status,
        }
        self._channel.post(json.dumps(line).encode(), urgent=True)

    def _fail(self, meant: Callable[[int], bool], reason: CallFailed) -> None:
        with self._lock:
            failing = {id_: each for id_, each in self._pending.items() if meant(id_)}
            for callback_id in failing:
                del self._pending[callback_id]
        for each in failing.values():
            each.listener.hear(Reply(reason, is_last=True))


class _Answer:
    """Waits for the one reply."""

    def __init__(self) -> None:
        self._come = threading.Event()
        self._reply: Reply | None = None

    def hear(self, reply: Reply) -> bool:
        self._reply = self._reply or reply
        self._come.set()
        return True

    def wait(self) -> Any:
        self._come.wait()
        assert self._reply is not None  # noqa: S101 - said before the event was set
        if self._reply.failure:
            raise self._reply.failure
        return self._reply.data


def _line(session_id: int, callback_id: int, message_type: str, fields: Message) -> bytes:
    envelope = {
        "sessionId": session_id,
        "toMain": session_id == MAIN_SESSION_ID,
        "callbackId": callback_id,
        "isReply": False,
        "message": {**fields, "type": message_type},
    }
    return json.dumps(envelope).encode()
