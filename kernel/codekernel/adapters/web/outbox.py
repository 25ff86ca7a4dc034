"""What is sent to one browser tab.

A queue that coalesces file statuses, and the stream of a conversation that sends the next part
when the page has read the last.
"""

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from codekernel.adapters.web.kernel_client import CallFailed, KernelReply, dump_failure
from codekernel.adapters.web.page_api import STATUS_FLUSH_INTERVAL_MS

OutgoingText = str | Iterable[bytes]


class Outbox:
    """A queue of messages to a tab; any thread puts, one iterates."""

    def __init__(self) -> None:
        self._pending: deque[OutgoingText] = deque()
        self._pending_size = 0
        self._statuses: dict[str, dict[str, Any]] = {}
        self._flush_at = 0.0
        self._is_closed = False
        self._changed = threading.Condition()

    @property
    def pending_size(self) -> int:
        """The characters that wait to be sent."""
        return self._pending_size

    def put(self, message: dict[str, Any]) -> None:
        """Add a message; never waits."""
        self.put_text(json.dumps(message))

    def put_text(self, text: OutgoingText) -> None:
        """Add a message that is JSON already, perhaps in pieces; never waits."""
        with self._changed:
            if self._is_closed:
                return
            self._pending.append(text)
            self._pending_size += _measure_size(text)
            self._changed.notify_all()

    def put_status(self, message: dict[str, Any]) -> None:
        """Add the status of a file; it replaces an earlier one that was not sent yet."""
        with self._changed:
            if self._is_closed:
                return
            if not self._statuses:
                self._flush_at = time.monotonic() + STATUS_FLUSH_INTERVAL_MS / 1000
                self._changed.notify_all()
            path = message["filePath"]
            self._statuses.pop(path, None)  # so that the list is in the order of what came last
            self._statuses[path] = {key: message[key] for key in ("filePath", "status", "progress")}

    def close(self) -> None:
        """Accept no more; what is queued can still be taken."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def __iter__(self) -> Iterator[OutgoingText]:
        while (text := self._next()) is not None:
            yield text

    def _next(self) -> OutgoingText | None:
        with self._changed:
            while True:
                if self._pending:
                    text = self._pending.popleft()
                    self._pending_size -= _measure_size(text)
                    return text
                if self._is_closed:
                    return None
                left = self._flush_at - time.monotonic() if self._statuses else None
                if left is not None and left <= 0:
                    return self._flush_statuses()
                self._changed.wait(left)

    def _flush_statuses(self) -> str:
        items = list(self._statuses.values())
        self._statuses.clear()
        return json.dumps({"event": {"type": "embeddingStatus", "items": items}})


def _measure_size(text: OutgoingText) -> int:
    """Return the memory that a message takes; pieces come from the disk."""
    return len(text) if isinstance(text, str) else 0


SESSION_NOT_FOUND_CODE = "SESSION_NOT_FOUND"

StreamPart = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _PendingPart:
    """A part that was not sent yet, and the answer texts that arrived after it."""

    part: StreamPart
    more_texts: list[str]

    def merge_texts(self) -> StreamPart:
        if not self.more_texts:
            return self.part
        return {**self.part, "content": "".join((self.part["content"], *self.more_texts))}


class ConversationStream:
    """Passes the replies to a question on to a page through ``send``, the end included."""

    def __init__(
        self, key: int, send: Callable[[dict[str, Any]], None], on_end: Callable[[], None]
    ) -> None:
        self._key = key
        self._send = send
        self._on_end = on_end
        self._parts: deque[_PendingPart] = deque()
        self._is_awaiting_read = False
        self._has_started = False
        self._failure: CallFailed | None = None
        self._is_over = False
        self._has_ended = False
        self._lock = threading.Lock()

    def on_reply(self, reply: KernelReply) -> bool:
        """Queue a reply; return whether it was the last."""
        with self._lock:
            self._accept(reply)
            self._has_started = True
            over = self._is_over
        self._send_next()
        return over

    def on_part_read(self) -> None:
        """Send the next part; called when the page has read the last."""
        with self._lock:
            self._is_awaiting_read = False
        self._send_next()

    def _accept(self, reply: KernelReply) -> None:
        failure, data = reply.failure, reply.data
        if failure:
            # Refused, or no session left to send `done`; otherwise `done` still follows.
            last = reply.is_last or not self._has_started or failure.code == SESSION_NOT_FOUND_CODE
            self._failure = self._failure or failure
            self._is_over = self._is_over or last
        elif data and data["type"] == "done" and self._failure:
            self._failure.done = data
            self._is_over = True
        elif data:
            self._enqueue(data)
            self._is_over = data["type"] == "done"

    def _enqueue(self, part: StreamPart) -> None:
        last = self._parts[-1] if self._parts else None
        if last and part["type"] == last.part["type"] == "answer":
            last.more_texts.append(part["content"])
        elif last and _is_same_message(last.part, part):
            self._parts[-1] = _PendingPart(part, [])
        else:
            self._parts.append(_PendingPart(part, []))

    def _send_next(self) -> None:
        with self._lock:
            if self._is_awaiting_read or self._has_ended:
                return
            if self._parts:
                self._is_awaiting_read = True
                self._send({"key": self._key, "part": self._parts.popleft().merge_texts()})
                return
            if not self._is_over:
                return
            self._has_ended = True
            failure = {"failure": dump_failure(self._failure)} if self._failure else {}
            self._send({"key": self._key, "isEnd": True, **failure})
        self._on_end()


def _is_same_message(last: StreamPart, part: StreamPart) -> bool:
    """Return whether a part is a later state of the same message of an agent."""
    if part["type"] != "message" or last["type"] != "message":
        return False
    name = part["content"].get("meta", {}).get("id")
    return name is not None and name == last["content"].get("meta", {}).get("id")
