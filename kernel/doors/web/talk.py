"""One conversation of a tab: replies of the kernel become parts, the next when the last is taken.

A browser takes in whatever arrives, so the page says when it has read a part. Pieces of the answer
that wait are joined, and a message of an agent that has grown takes its own place: a page that is
behind gets fewer and longer pieces of the same text.
"""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kernel.doors.web.exchange import Reply
from kernel.doors.web.failures import CallFailed, plain

SESSION_GONE = "SESSION_NOT_FOUND"

Part = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A part that was not sent yet, and the pieces of the answer that have come after it."""

    part: Part
    more: list[str]

    def whole(self) -> Part:
        if not self.more:
            return self.part
        return {**self.part, "content": "".join((self.part["content"], *self.more))}


class Talk:
    """A listener of the exchange; ``send`` gets what the page is told, the end included."""

    def __init__(
        self, key: int, send: Callable[[dict[str, Any]], None], on_end: Callable[[], None]
    ) -> None:
        self._key = key
        self._send = send
        self._on_end = on_end
        self._parts: deque[_Waiting] = deque()
        self._is_reading = False
        self._has_begun = False
        self._failure: CallFailed | None = None
        self._is_over = False
        self._has_ended = False
        self._lock = threading.Lock()

    def hear(self, reply: Reply) -> bool:
        """Take a reply; whether it was the last."""
        with self._lock:
            self._take(reply)
            self._has_begun = True
            over = self._is_over
        self._go_on()
        return over

    def read(self) -> None:
        """The page has taken the last part."""
        with self._lock:
            self._is_reading = False
        self._go_on()

    def _take(self, reply: Reply) -> None:
        failure, data = reply.failure, reply.data
        if failure:
            # Not accepted, or nobody left to say `done`; else `done` still follows.
            last = reply.is_last or not self._has_begun or failure.code == SESSION_GONE
            self._failure = self._failure or failure
            self._is_over = self._is_over or last
        elif data and data["type"] == "done" and self._failure:
            self._failure.done = data
            self._is_over = True
        elif data:
            self._add(data)
            self._is_over = data["type"] == "done"

    def _add(self, part: Part) -> None:
        last = self._parts[-1] if self._parts else None
        if last and part["type"] == last.part["type"] == "answer":
            last.more.append(part["content"])
        elif last and _has_grown(last.part, part):
            self._parts[-1] = _Waiting(part, [])
        else:
            self._parts.append(_Waiting(part, []))

    def _go_on(self) -> None:
        with self._lock:
            if self._is_reading or self._has_ended:
                return
            if self._parts:
                self._is_reading = True
                self._send({"key": self._key, "part": self._parts.popleft().whole()})
                return
            if not self._is_over:
                return
            self._has_ended = True
            failure = {"failure": plain(self._failure)} if self._failure else {}
            self._send({"key": self._key, "isEnd": True, **failure})
        self._on_end()


def _has_grown(last: Part, part: Part) -> bool:
    """Whether this is the same message of an agent as the one before it, later."""
    if part["type"] != "message" or last["type"] != "message":
        return False
    name = part["content"].get("meta", {}).get("id")
    return name is not None and name == last["content"].get("meta", {}).get("id")
