"""One port for WebSockets behind a guard; whoever is let in gets a handler on a thread."""

import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass

from websockets.sync.connection import Connection

from kernel.doors.ide.places import EVERYWHERE, LOOPBACK, Guard, new_token
from kernel.doors.websocket import WebSockets
from kernel.transport.http_head import RequestHead
from kernel.transport.listener import Listener, listen

Handler = Callable[[Connection], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which port: 0 for any; with which token: a new one if there is none; for whom."""

    port: int = 0
    token: str = ""
    anywhere: bool = False


class Port:
    """Taken when it is made, serves when it is told to."""

    def __init__(self, wanted: Wanted, handler: Handler) -> None:
        """Raises OSError if the port is taken."""
        self.token = wanted.token or new_token()
        self._handler = handler
        self._websockets = WebSockets()
        listening = listen(EVERYWHERE if wanted.anywhere else LOOPBACK, wanted.port)
        self.bound: tuple[str, int] = listening.getsockname()
        self.number = self.bound[1]
        guard = Guard(self.number, self.token, anywhere=wanted.anywhere)
        self._listener = Listener(listening, guard.refusal, self._serve, "ide")

    @property
    def address(self) -> str:
        """What a program on this machine dials, without the token."""
        return f"ws://{LOOPBACK}:{self.number}"

    def serve(self) -> None:
        """Serve until ``stop``, which another thread calls."""
        self._listener.run()

    def start(self) -> None:
        """Serve on a thread of its own."""
        threading.Thread(target=self.serve, name="ide:port", daemon=True).start()

    def stop(self) -> None:
        """Close every connection, and wait a moment for the others to agree."""
        self._listener.stop()
        self._websockets.close_all()

    def _serve(self, sock: socket.socket, head: RequestHead, _: bytes) -> None:
        self._websockets.serve(sock, head, self._handler)
