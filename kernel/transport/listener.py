"""A listening socket that strangers cannot exhaust: accepting, reading request heads, refusing.

One thread accepts, reads heads and writes refusals, without ever waiting for a client. A connection
gets a thread of its own only once its whole head has come and ``judge`` has admitted it. The others
are few and have little time and memory: beyond their limits the oldest is dropped.
"""

import contextlib
import errno
import logging
import selectors
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from kernel.transport.http_head import (
    BadRequest,
    RequestHead,
    check_growth,
    find_end,
    parse_head,
    refuse_body,
)
from kernel.transport.http_response import render_text
from kernel.transport.quiet_log import QuietLog

# Connections that have proven nothing may have this share of our descriptors. At 20,000 new ones a
# second, 256 leave an honest client 12 ms between its connection and its request.
PENDING_SHARE = 0.25
MIN_PENDING_CONNECTIONS, MAX_PENDING_CONNECTIONS = 32, 512
# What all of them may have sent; a single head may have 1 MiB.
MAX_PENDING_BYTES = 32 * 1024 * 1024
HEAD_TIMEOUT_SECONDS = 10.0
# What a refused client may still send, so that it reads the refusal instead of a reset.
DRAIN_TIMEOUT_SECONDS = 1.0
# Connections with a thread of their own; each WebSocket has three more threads.
MAX_ADMITTED_CONNECTIONS = 192
# As many as the system allows may wait to be accepted.
BACKLOG = 4096
MAX_ACCEPTS_PER_TURN = 64
RECEIVE_BYTES = 64 * 1024
# When descriptors or memory have run out, or accept fails for a reason we do not know.
ACCEPT_RETRY_SECONDS = 0.1
STOP_TIMEOUT_SECONDS = 3.0
_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}

logger = logging.getLogger(__name__)

# The response with which a request is refused, or None to admit it. Must not wait.
Judge = Callable[[RequestHead, socket.socket], bytes | None]
# Serves an admitted connection on a thread of its own, with the beginning of its body. The
# connection is closed after that, unless it was detached.
Serve = Callable[[socket.socket, RequestHead, bytes], None]


@dataclass(eq=False, slots=True)
class _Pending:
    """A connection without a thread: its head is being read, or its refusal is being taken."""

    connection: socket.socket
    deadline: float
    received: bytearray = field(default_factory=bytearray)
    is_draining: bool = False


def listen(host: str, port: int) -> socket.socket:
    """Take a port, 0 for any. Raises OSError if it cannot be had."""
    return socket.create_server((host, port), backlog=BACKLOG)


class Listener:
    """Serves one listening socket until it is stopped."""

    def __init__(
        self,
        listening: socket.socket,
        judge: Judge,
        serve: Serve,
        name: str,
        *,
        takes_body: bool = False,
    ) -> None:
        """Take over a socket; ``name`` stands in the log."""
        self._takes_body = takes_body
        self._listening = listening
        self._judge = judge
        self._serve = serve
        self._name = name
        self._quiet = QuietLog(logger, f"{name} refused a connection")
        self._pending: dict[_Pending, None] = {}  # oldest first
        self._pending_bytes = 0
        self.max_pending = _max_pending()
        self._admitted = threading.Semaphore(MAX_ADMITTED_CONNECTIONS)
        self._is_running = False
        self._is_stopping = threading.Event()
        self._ended = threading.Event()
        self._accept_again_at = 0.0
        self._selector = selectors.DefaultSelector()
        self._waker, self._wake = socket.socketpair()
        listening.settimeout(0)
        self._selector.register(listening, selectors.EVENT_READ)
        self._selector.register(self._waker, selectors.EVENT_READ)

    def run(self) -> None:
        """Accept and read until ``stop``; no failure of a connection ends it."""
        self._is_running = True
        try:
            while not self._is_stopping.is_set():
                self._turn()
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
        for pending in list(self._pending):
            self._drop(pending)
        self._selector.close()
        for each in (self._listening, self._waker, self._wake):
            each.close()
        self._ended.set()

    def _turn(self) -> None:
        ready = [key for key, _ in self._selector.select(self._patience())]
        # Heads that have come are served before strangers can push their connections out.
        for key in ready:
            if isinstance(key.data, _Pending) and key.data in self._pending:
                self._read(key.data)
        self._expire()
        if self._accept_again_at:
            self._resume_accepting()
        elif any(key.fileobj is self._listening for key in ready):
            self._accept()

    def _patience(self) -> float | None:
        deadlines = [each.deadline for each in self._pending]
        if self._accept_again_at:
            deadlines.append(self._accept_again_at)
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    def _accept(self) -> None:
        for _ in range(MAX_ACCEPTS_PER_TURN):
            try:
                connection, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionError:
                continue  # it was gone before it was accepted
            except OSError as error:
                self._pause_accepting(error)
                return
            self._take(connection)

    def _take(self, connection: socket.socket) -> None:
        connection.settimeout(0)
        pending = _Pending(connection, time.monotonic() + HEAD_TIMEOUT_SECONDS)
        try:
            self._selector.register(connection, selectors.EVENT_READ, pending)
        except (OSError, ValueError):
            connection.close()
            return
        self._pending[pending] = None
        self._read(pending)  # most clients have sent their head by now
        self._evict()

    def _evict(self) -> None:
        """Keep within the limits; of a slow trickle of new ones, the oldest has waited longest."""
        while len(self._pending) > self.max_pending or self._pending_bytes > MAX_PENDING_BYTES:
            self._quiet.note("too many have sent no whole request; the oldest was dropped")
            self._drop(next(iter(self._pending)))

    def _pause_accepting(self, error: OSError) -> None:
        """Make room and try again soon; a listening socket that is ready would spin meanwhile."""
        if self._is_stopping.is_set():
            return
        self._quiet.note(f"accept failed: {error}")
        if error.errno in _EXHAUSTED:
            for each in list(self._pending)[: max(1, len(self._pending) // 2)]:
                self._drop(each)
        self._selector.unregister(self._listening)
        self._accept_again_at = time.monotonic() + ACCEPT_RETRY_SECONDS

    def _resume_accepting(self) -> None:
        if time.monotonic() >= self._accept_again_at:
            self._accept_again_at = 0.0
            self._selector.register(self._listening, selectors.EVENT_READ)

    def _read(self, pending: _Pending) -> None:
        try:
            received = pending.connection.recv(RECEIVE_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            received = b""
        if not received:
            self._drop(pending)
        elif not pending.is_draining:
            searched = len(pending.received)
            pending.received += received
            self._pending_bytes += len(received)
            self._advance(pending, searched)
            self._evict()

    def _advance(self, pending: _Pending, searched: int) -> None:
        """Judge the head if it is whole."""
        try:
            end = find_end(pending.received, searched)
            if end < 0:
                check_growth(pending.received)
                return
            head = parse_head(bytes(pending.received[:end]))
            if not self._takes_body:
                refuse_body(head, len(pending.received) - end)
        except BadRequest as error:
            self._quiet.note(error)
            self._answer(pending, render_text(error.status, f"Not understood: {error}."))
            return
        try:
            refusal = self._judge(head, pending.connection)
        except Exception:  # the guard of this thread: one connection must not end all others
            logger.exception("%s failed to judge a request", self._name)
            self._drop(pending)
            return
        if refusal is not None:
            self._answer(pending, refusal)
        elif not self._admitted.acquire(blocking=False):
            self._drop(pending)
        else:
            self._admit(pending, head, bytes(pending.received[end:]))

    def _answer(self, pending: _Pending, response: bytes) -> None:
        """Send a refusal, which fits into any send buffer, and let the client read it."""
        try:
            pending.connection.send(response)
            pending.connection.shutdown(socket.SHUT_WR)
        except OSError:
            self._drop(pending)
            return
        pending.is_draining = True
        self._pending_bytes -= len(pending.received)
        pending.received.clear()
        pending.deadline = time.monotonic() + DRAIN_TIMEOUT_SECONDS

    def _admit(self, pending: _Pending, head: RequestHead, body: bytes) -> None:
        self._forget(pending)
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
            self._quiet.note(error)
            connection.close()
            self._admitted.release()

    def _expire(self) -> None:
        now = time.monotonic()
        for each in [each for each in self._pending if each.deadline <= now]:
            self._drop(each)

    def _drop(self, pending: _Pending) -> None:
        self._forget(pending)
        pending.connection.close()

    def _forget(self, pending: _Pending) -> None:
        if pending in self._pending:
            del self._pending[pending]
            self._pending_bytes -= len(pending.received)
            self._selector.unregister(pending.connection)


def _max_pending() -> int:
    """Return how many connections may be pending, by how many descriptors we may have."""
    try:
        import resource  # noqa: PLC0415 - POSIX alone has it
    except ImportError:  # Windows, where select() takes 512 sockets in all
        return MAX_PENDING_CONNECTIONS // 2
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MAX_PENDING_CONNECTIONS
    share = int(soft * PENDING_SHARE)
    return min(max(share, MIN_PENDING_CONNECTIONS), MAX_PENDING_CONNECTIONS)
