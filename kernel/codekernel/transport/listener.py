"""An HTTP listening socket that cannot be exhausted.

One thread accepts, reads request heads and sends refusals without waiting; only admitted
connections get a thread, and the oldest pending ones are evicted.
"""

import contextlib
import errno
import logging
import selectors
import socket
import threading
import time
from collections.abc import Callable

from codekernel.transport.connections import PendingConnection, PendingConnections, RateLimitedLog
from codekernel.transport.http_messages import (
    BadRequest,
    RequestHead,
    check_head_size,
    find_head_end,
    parse_head,
    reject_body,
    render_text,
)

# Connections with a thread of their own; each WebSocket has three more threads.
MAX_ADMITTED_CONNECTIONS = 192

# As many as the system allows may wait to be accepted.
LISTEN_BACKLOG = 4096

MAX_ACCEPTS_PER_POLL = 64

RECEIVE_BYTES = 64 * 1024

# When descriptors or memory have run out, or accept fails for a reason we do not know.
ACCEPT_RETRY_SECONDS = 0.1

STOP_TIMEOUT_SECONDS = 3.0

_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}

logger = logging.getLogger(__name__)

# The response with which a request is refused, or None to admit it. Must not wait.
AdmitRequest = Callable[[RequestHead], bytes | None]

# Serves an admitted connection on a thread of its own, with the beginning of its body. The
# connection is closed after that, unless it was detached.
ServeConnection = Callable[[socket.socket, RequestHead, bytes], None]


LOOPBACK_HOST, ANY_HOST = "127.0.0.1", "0.0.0.0"  # noqa: S104 - only where a person asks for it


def open_listening_socket(host: str, port: int) -> socket.socket:
    """Take a port, 0 for any. Raises OSError if it cannot be had."""
    listening = socket.create_server((host, port), backlog=LISTEN_BACKLOG)
    # Connections inherit it. Without it the body of an answer waits until the client has confirmed
    # the head, 40 ms on Linux; asyncio sets it only where the protocol of the socket is named.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


class HttpListener:
    """Serves one listening socket until it is stopped."""

    def __init__(
        self,
        listening: socket.socket,
        admit_request: AdmitRequest,
        serve: ServeConnection,
        name: str,
        *,
        takes_body: bool = False,
    ) -> None:
        """Take over a socket; ``name`` stands in the log."""
        self._takes_body = takes_body
        self._listening = listening
        self._admit_request = admit_request
        self._serve = serve
        self._name = name
        self._refusal_log = RateLimitedLog(logger, f"{name} refused a connection")
        self._admitted = threading.Semaphore(MAX_ADMITTED_CONNECTIONS)
        self._is_running = False
        self._is_stopping = threading.Event()
        self._ended = threading.Event()
        self._accept_again_at = 0.0
        self._selector = selectors.DefaultSelector()
        self.pending = PendingConnections(self._selector)
        self._waker, self._wake = socket.socketpair()
        listening.settimeout(0)
        self._selector.register(listening, selectors.EVENT_READ)
        self._selector.register(self._waker, selectors.EVENT_READ)

    def run(self) -> None:
        """Accept and read until ``stop``; no failure of a connection ends it."""
        self._is_running = True
        try:
            while not self._is_stopping.is_set():
                self._poll_once()
        finally:
            self._close()

    def stop(self) -> None:
        """Stop accepting, and close what was not admitted; admitted connections go on."""
        self._is_stopping.set()
        if not self._is_running:
            self._close()
            return
        with contextlib.suppress(OSError):
            self._wake.send(b"x")
        self._ended.wait(STOP_TIMEOUT_SECONDS)

    def _close(self) -> None:
        self.pending.drop_all()
        self._selector.close()
        for each in (self._listening, self._waker, self._wake):
            each.close()
        self._ended.set()

    def _poll_once(self) -> None:
        ready = [key for key, _ in self._selector.select(self._compute_poll_timeout())]
        # Heads that have come are served before strangers can push their connections out.
        for key in ready:
            if isinstance(key.data, PendingConnection) and key.data in self.pending:
                self._read(key.data)
        self.pending.expire()
        if self._accept_again_at:
            self._resume_accepting()
        elif any(key.fileobj is self._listening for key in ready):
            self._accept()

    def _compute_poll_timeout(self) -> float | None:
        deadlines = [self.pending.next_deadline, self._accept_again_at or None]
        known = [each for each in deadlines if each is not None]
        return max(0.0, min(known) - time.monotonic()) if known else None

    def _accept(self) -> None:
        for _ in range(MAX_ACCEPTS_PER_POLL):
            try:
                connection, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionError:
                continue  # it was gone before it was accepted
            except OSError as error:
                self._pause_accepting(error)
                return
            self._add_pending(connection)

    def _add_pending(self, connection: socket.socket) -> None:
        pending = self.pending.add(connection)
        if pending:
            self._read(pending)  # most clients have sent their head by now
            self._evict()

    def _evict(self) -> None:
        if self.pending.evict():
            self._refusal_log.log_event(
                "too many have sent no whole request; the oldest was dropped"
            )

    def _pause_accepting(self, error: OSError) -> None:
        """Free descriptors and retry soon; polling a socket that is ready would spin."""
        if self._is_stopping.is_set():
            return
        self._refusal_log.log_event(f"accept failed: {error}")
        if error.errno in _EXHAUSTED:
            self.pending.drop_half()
        self._selector.unregister(self._listening)
        self._accept_again_at = time.monotonic() + ACCEPT_RETRY_SECONDS

    def _resume_accepting(self) -> None:
        if time.monotonic() >= self._accept_again_at:
            self._accept_again_at = 0.0
            self._selector.register(self._listening, selectors.EVENT_READ)

    def _read(self, pending: PendingConnection) -> None:
        try:
            received = pending.connection.recv(RECEIVE_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            received = b""
        if not received:
            self.pending.drop(pending)
        elif not pending.is_draining:
            searched = len(pending.received)
            self.pending.add_received(pending, received)
            self._advance(pending, searched)
            self._evict()

    def _advance(self, pending: PendingConnection, searched: int) -> None:
        """Check the head if it is whole."""
        try:
            end = find_head_end(pending.received, searched)
            if end < 0:
                check_head_size(pending.received)
                return
            head = parse_head(bytes(pending.received[:end]))
            if not self._takes_body:
                reject_body(head, len(pending.received) - end)
        except BadRequest as error:
            self._refusal_log.log_event(error)
            self._send_refusal(pending, render_text(error.status, f"Not understood: {error}."))
            return
        try:
            refusal = self._admit_request(head)
        except Exception:  # the guard of this thread: one connection must not end all others
            logger.exception("%s failed to judge a request", self._name)
            self.pending.drop(pending)
            return
        if refusal is not None:
            self._send_refusal(pending, refusal)
        elif not self._admitted.acquire(blocking=False):
            self.pending.drop(pending)
        else:
            self._admit(pending, head, bytes(pending.received[end:]))

    def _send_refusal(self, pending: PendingConnection, response: bytes) -> None:
        """Send a refusal, which fits into any send buffer, and let the client read it."""
        try:
            pending.connection.send(response)
            pending.connection.shutdown(socket.SHUT_WR)
        except OSError:
            self.pending.drop(pending)
            return
        self.pending.start_draining(pending)

    def _admit(self, pending: PendingConnection, head: RequestHead, body: bytes) -> None:
        self.pending.forget(pending)
        connection = pending.connection
        connection.settimeout(None)

        def serve() -> None:
            try:
                self._serve(connection, head, body)
            finally:
                connection.close()
                self._admitted.release()

        try:
            threading.Thread(target=serve, name=f"{self._name}:serve", daemon=True).start()
        except RuntimeError as error:  # no more threads
            self._refusal_log.log_event(error)
            connection.close()
            self._admitted.release()
