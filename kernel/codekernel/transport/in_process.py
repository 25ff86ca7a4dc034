"""Connections within one process, for a command that has a kernel of its own."""

import queue
import socket

from codekernel.transport.unix_socket import SocketPipe


class InProcessListener:
    """Accepts what ``connect`` connects."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[SocketPipe | None] = queue.SimpleQueue()

    def connect(self) -> SocketPipe:
        """Return the client's end of a new connection."""
        ours, theirs = socket.socketpair()
        self._waiting.put(SocketPipe(theirs))
        return SocketPipe(ours)

    def accept(self) -> SocketPipe | None:
        """Wait for the next connection; None once closed."""
        return self._waiting.get()

    def close(self) -> None:
        """Accept no more."""
        self._waiting.put(None)
