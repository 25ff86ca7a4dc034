"""One connection of the plugin end: calls come in, results go out in the order they are ready.

A result is kept until the other side has answered a ping behind it; if the connection is lost
before that, it is sent again over the next one. The backend knows it by its id.
"""

import threading
import time
from collections import deque
from dataclasses import dataclass, field, replace
from typing import Protocol

from websockets.exceptions import ConnectionClosed

from kernel.doors.ide.executor import Executor

# After that the backend has given up on the call.
KEPT_SECONDS = 30.0


class Connection(Protocol):
    """Either side of a WebSocket."""

    def send(self, message: str) -> None:
        """Send a text. Raises ConnectionClosed."""

    def recv(self) -> str | bytes:
        """The next message. Raises ConnectionClosed."""

    def ping(self) -> threading.Event:
        """Is set once everything before has arrived. Raises ConnectionClosed."""


@dataclass(frozen=True, slots=True)
class _Kept:
    text: str
    made: float
    arrived: threading.Event = field(default_factory=threading.Event)

    @property
    def matters(self) -> bool:
        return not self.arrived.is_set() and time.monotonic() - self.made <= KEPT_SECONDS


class Answering:
    """The executor behind whatever connection there is now."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._connection: Connection | None = None
        self._unsent: deque[_Kept] = deque()
        self._sent: list[_Kept] = []
        self._sending = threading.Lock()

    def serve(self, connection: Connection) -> int:
        """Answer until the connection is closed; how many messages came."""
        with self._sending:
            self._connection = connection
            self._unsent.extendleft(reversed(self._sent))
            self._sent = []
            self._send_all()
        heard = 0
        try:
            while True:
                message = connection.recv()
                heard += 1
                self._executor.take(message, self._reply)
        except ConnectionClosed:
            return heard
        finally:
            with self._sending:
                if self._connection is connection:
                    self._connection = None

    def _reply(self, text: str) -> None:
        with self._sending:
            self._unsent.append(_Kept(text, time.monotonic()))
            self._send_all()

    def _send_all(self) -> None:
        """Within the lock: frames of two threads must not meet."""
        self._sent = [kept for kept in self._sent if kept.matters]
        while self._unsent and self._connection:
            kept = self._unsent[0]
            if kept.matters:
                try:
                    self._connection.send(kept.text)
                    arrived = self._connection.ping()
                except ConnectionClosed:
                    self._connection = None
                    return
                self._sent.append(replace(kept, arrived=arrived))
            self._unsent.popleft()
