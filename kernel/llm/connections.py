"""Connections to one endpoint, each lent to one exchange at a time, so that one can be cut alone.

Not one shared httpx client: over HTTP/2 its streams share a socket, where httpx cannot end one
without breaking or abandoning the others, and a stopped answer must stop costing money.
"""

import contextlib
import socket
import ssl
import threading
from typing import Any

import httpx

from kernel.errors import NetworkError
from kernel.llm.client import make_client, system_trust

# As many conversations as a person has going on; more are opened when needed, but not kept.
MOST_IDLE = 8


class Connection:
    """A client with at most one socket, which can be cut from another thread."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_cut = False

    def note(self, stream: Any) -> None:
        """Remember a socket that httpx has just opened or wrapped in TLS."""
        opened = stream.get_extra_info("socket")
        with self._lock:
            self._socket = opened
            if self._is_cut:
                _cut(opened)

    @property
    def is_cut(self) -> bool:
        """Whether somebody has given up on it."""
        with self._lock:
            return self._is_cut

    def cut(self) -> None:
        """End every read and write at once; the connection cannot be used again."""
        with self._lock:
            self._is_cut = True
            if self._socket is not None:
                _cut(self._socket)


class Connections:
    """Lends connections; safe to use from several threads at once."""

    def __init__(self, timeouts: httpx.Timeout, *, is_local: bool = False) -> None:
        self._timeouts = timeouts
        self._is_local = is_local
        self._trust: ssl.SSLContext | None = None
        self._trust_lock = threading.Lock()
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._closed = False

    def prepare(self) -> None:
        """Make the first connection's client in the background; nothing is dialled.

        The first one loads libraries and authorities, which nobody should wait for who asks a
        question a moment later.
        """
        threading.Thread(target=self._prepare, name="chat:prepare", daemon=True).start()

    def borrow(self) -> Connection:
        """Take an idle connection, the one last used, or make a new one."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return Connection(
            make_client(self._timeouts, trust=self._shared_trust(), is_local=self._is_local)
        )

    def give_back(self, connection: Connection, *, reusable: bool) -> None:
        """Return a connection; one whose answer was not read to its end is of no use any more."""
        reusable = reusable and not connection.is_cut
        with self._lock:
            if reusable and not self._closed and len(self._idle) < MOST_IDLE:
                self._idle.append(connection)
                return
        connection.client.close()

    def close(self) -> None:
        """Close what is idle now, and what is lent when it comes back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.client.close()

    def _prepare(self) -> None:
        # Whatever is wrong with the environment is said when something is asked.
        with contextlib.suppress(NetworkError):
            self.give_back(self.borrow(), reusable=True)

    def _shared_trust(self) -> ssl.SSLContext:
        with self._trust_lock:
            if self._trust is None:
                self._trust = system_trust()
            return self._trust


def _cut(opened: socket.socket) -> None:
    with contextlib.suppress(OSError):
        # Not the method of a TLS socket: that would forget the session under the reader's hands.
        socket.socket.shutdown(opened, socket.SHUT_RDWR)
