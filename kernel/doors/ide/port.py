"""One port for WebSockets behind a guard; whoever is let in gets a handler on a thread."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from kernel.doors.ide.places import EVERYWHERE, LOOPBACK, Guard, new_token
from kernel.transport.lines import LINE_LIMIT_BYTES

PING_SECONDS = 20.0
POLITE_SECONDS = 1.0
STOPPED_WITHIN_SECONDS = 3.0

Handler = Callable[[ServerConnection], None]


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
        quiet = logging.getLogger("websockets.server")
        quiet.setLevel(logging.WARNING)
        self._server: Server = serve(
            handler,
            EVERYWHERE if wanted.anywhere else LOOPBACK,
            wanted.port,
            compression=None,
            process_request=self._answer,
            server_header=None,
            max_size=LINE_LIMIT_BYTES,
            ping_interval=PING_SECONDS,
            ping_timeout=PING_SECONDS,
            close_timeout=POLITE_SECONDS,
            logger=quiet,
        )
        self.number: int = self._server.socket.getsockname()[1]
        self._guard = Guard(self.number, self.token, anywhere=wanted.anywhere)

    @property
    def address(self) -> str:
        """What a program on this machine dials, without the token."""
        return f"ws://{LOOPBACK}:{self.number}"

    def serve(self) -> None:
        """Serve until ``stop``, which another thread calls."""
        self._server.serve_forever()

    def start(self) -> None:
        """Serve on a thread of its own."""
        threading.Thread(target=self.serve, name="ide:port", daemon=True).start()

    def stop(self) -> None:
        """Close every connection, and wait a moment for the others to agree."""
        stopping = threading.Thread(target=self._server.shutdown, name="ide:stop", daemon=True)
        stopping.start()
        stopping.join(STOPPED_WITHIN_SECONDS)

    def _answer(self, _: ServerConnection, request: Request) -> Response | None:
        return self._guard.refusal(request)
