"""What is sent to one browser tab.

A queue that coalesces file statuses, and the stream of a conversation that sends the next part
when the page has read the last.
"""

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
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


StreamPart = dict[str, Any]


@dataclass(slots=True)
class ConversationStream:
    """Passes the replies to a question on to a page through ``_send``, the end included."""

    _key: int
    _send: Callable[[dict[str, Any]], None]
    _on_end: Callable[[], None]
    # Parts that were not sent yet, each with the answer texts that arrived after it.
    _parts: deque[tuple[StreamPart, list[str]]] = field(default_factory=deque)
    _is_awaiting_read: bool = False
    _has_started: bool = False
    _failure: CallFailed | None = None
    _is_over: bool = False
    _has_ended: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

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
            last = reply.is_last or not self._has_started or failure.code == "SESSION_NOT_FOUND"
            self._failure = self._failure or failure
            self._is_over = self._is_over or last
        elif data and data["type"] == "done" and self._failure:
            self._failure.done = data
            self._is_over = True
        elif data:
            self._enqueue(data)
            self._is_over = data["type"] == "done"

    def _enqueue(self, part: StreamPart) -> None:
        last, more_texts = self._parts[-1] if self._parts else ({"type": ""}, [])
        if part["type"] == last["type"] == "answer":
            more_texts.append(part["content"])
            return
        if _is_same_message(last, part):
            self._parts.pop()
        self._parts.append((part, []))

    def _send_next(self) -> None:
        with self._lock:
            if self._is_awaiting_read or self._has_ended:
                return
            if self._parts:
                self._is_awaiting_read = True
                part, more_texts = self._parts.popleft()
                if more_texts:
                    part = {**part, "content": "".join((part["content"], *more_texts))}
                self._send({"key": self._key, "part": part})
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
