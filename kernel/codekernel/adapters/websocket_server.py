"""WebSocket connections on sockets of our own listener: handshake, limits, keepalive, closing.

The handshake head is rendered again from the parsed one, so that no header that was not parsed
reaches the `websockets` library.
"""

import logging
import socket
import threading
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus

from websockets.http11 import Request
from websockets.protocol import OPEN
from websockets.server import ServerProtocol
from websockets.sync.connection import Connection
from websockets.typing import Subprotocol

from codekernel.transport.http_messages import RequestHead
from codekernel.transport.lines import MAX_LINE_BYTES

# Finds clients whose machine sleeps or whose process hangs.
PING_INTERVAL_SECONDS = 20.0

# For one message to a client that does not read; it then counts as gone.
SEND_TIMEOUT_SECONDS = 60.0

CLOSE_TIMEOUT_SECONDS = 1.0

STOP_TIMEOUT_SECONDS = 3.0

# Messages read ahead of the handler; each may have MAX_LINE_BYTES, so this bounds the memory.
MAX_QUEUED_FRAMES = 4

GOING_AWAY_CODE = 1001

_HANDSHAKE_HEADERS = (
    "Host", "Upgrade", "Connection", "Sec-WebSocket-Key", "Sec-WebSocket-Version",
    "Sec-WebSocket-Protocol",
)  # fmt: skip

# The library logs clients' errors with tracebacks, as if they were ours.
_library_logger = logging.getLogger("websockets.server")

_library_logger.setLevel(logging.CRITICAL)


class WebSocketServer:
    """The open WebSockets of one listener."""

    def __init__(self, subprotocol: str | None = None) -> None:
        self._subprotocols = [Subprotocol(subprotocol)] if subprotocol else None
        self._open: set[Connection] = set()
        self._lock = threading.Lock()
        self._is_closing = False

    def serve(
        self, sock: socket.socket, head: RequestHead, handler: Callable[[Connection], object]
    ) -> None:
        """Complete the handshake, run ``handler`` with the connection, and close it."""
        connection = self._upgrade(sock, head)
        if connection is None:
            return
        with self._lock:
            self._open.add(connection)
            is_late = self._is_closing
        try:
            if is_late:
                connection.close(GOING_AWAY_CODE)
            handler(connection)
        finally:
            connection.close()
            with self._lock:
                self._open.discard(connection)

    def close_all(self) -> None:
        """Close every connection as going away, and wait a moment for the clients."""
        with self._lock:
            self._is_closing = True
            closing = [
                threading.Thread(target=each.close, args=(GOING_AWAY_CODE,), daemon=True)
                for each in self._open
            ]
        for each in closing:
            each.start()
        for each in closing:
            each.join(STOP_TIMEOUT_SECONDS)

    def _upgrade(self, sock: socket.socket, head: RequestHead) -> Connection | None:
        """Answer the handshake; return the open connection, None if it was refused."""
        protocol = ServerProtocol(
            subprotocols=self._subprotocols, max_size=MAX_LINE_BYTES, logger=_library_logger
        )
        protocol.receive_data(_render_handshake(head))
        events = protocol.events_received()
        request = next((event for event in events if isinstance(event, Request)), None)
        if request:
            response = protocol.accept(request)
            if self._is_closing:
                response = protocol.reject(HTTPStatus.SERVICE_UNAVAILABLE, "stopping\n")
            protocol.send_response(response)
        sock.settimeout(SEND_TIMEOUT_SECONDS)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            sock.sendall(b"".join(protocol.data_to_send()))
        except OSError:
            return None
        if protocol.state is not OPEN:
            return None
        connection = Connection(
            sock,
            protocol,
            ping_interval=PING_INTERVAL_SECONDS,
            ping_timeout=PING_INTERVAL_SECONDS,
            close_timeout=CLOSE_TIMEOUT_SECONDS,
            max_queue=MAX_QUEUED_FRAMES,
        )
        connection.request = request
        connection.start_keepalive()
        return connection


def _render_handshake(head: RequestHead) -> bytes:
    headers = [
        (name, value) for name in _HANDSHAKE_HEADERS for value in head.get_header_values(name)
    ]
    return replace(head, headers=tuple(headers)).render()
