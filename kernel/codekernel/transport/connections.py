"""Connections that are not trusted yet.

Limits on how many may be pending, the account at the other end of a loopback connection, and a
rate-limited log of refusals.
"""

import logging
import os
import selectors
import socket
import struct
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

if sys.platform != "win32":
    import resource

LOG_INTERVAL_SECONDS = 10.0


class RateLimitedLog:
    """Writes the first of many events at once, and the number of those that follow later."""

    def __init__(self, logger: logging.Logger, subject: str) -> None:
        self._logger = logger
        self._subject = subject
        self._lock = threading.Lock()
        self._suppressed = 0
        self._next_at = 0.0

    def log_event(self, reason: object) -> None:
        """Count an event; ``reason`` may hold anything a stranger has sent."""
        with self._lock:
            self._suppressed += 1
            now = time.monotonic()
            if now < self._next_at:
                return
            count, self._suppressed = self._suppressed, 0
            self._next_at = now + LOG_INTERVAL_SECONDS
        more = f" ({count} in all since the last line)" if count > 1 else ""
        self._logger.info("%s: %s%s", self._subject, ascii(str(reason))[1:-1][:200], more)


_PROC_TCP_TABLE = Path("/proc/net/tcp")

_LOCAL, _REMOTE, _UID = 1, 2, 7


def is_own_account(connection: socket.socket) -> bool:
    """Whether a process of our own account has connected; False if that is unknown."""
    try:
        wanted = (
            _format_proc_address(connection.getpeername()),
            _format_proc_address(connection.getsockname()),
        )
        rows = [
            line.split() for line in _PROC_TCP_TABLE.read_text(encoding="ascii").splitlines()[1:]
        ]
        own = str(os.getuid())
    except (OSError, AttributeError, struct.error):
        return False
    owners = [row[_UID] for row in rows if (row[_LOCAL], row[_REMOTE]) == wanted]
    return owners == [own]


def can_check_account() -> bool:
    """Whether ``is_own_account`` works on this system."""
    return os.access(_PROC_TCP_TABLE, os.R_OK)


def _format_proc_address(address: tuple[str, int]) -> str:
    """``("127.0.0.1", 80)`` as the table has it: the four bytes in the order of this machine."""
    (number,) = struct.unpack("=I", socket.inet_aton(address[0]))
    return f"{number:08X}:{address[1]:04X}"


# Connections that have proven nothing may have this share of our descriptors. At 20,000 new ones a
# second, 256 leave a real client 12 ms between its connection and its request.
PENDING_SHARE = 0.25

MIN_PENDING_CONNECTIONS, MAX_PENDING_CONNECTIONS = 32, 512

# What all of them may have sent; a single head may have 1 MiB.
MAX_PENDING_BYTES = 32 * 1024 * 1024

HEAD_TIMEOUT_SECONDS = 10.0

# What a refused client may still send, so that it reads the refusal instead of a reset.
DRAIN_TIMEOUT_SECONDS = 1.0


@dataclass(eq=False, slots=True)
class PendingConnection:
    """A connection without a thread: its head is being read, or its refusal is being taken."""

    connection: socket.socket
    deadline: float
    received: bytearray = field(default_factory=bytearray)
    is_draining: bool = False


class PendingConnections:
    """All of them, oldest first, registered with a selector."""

    def __init__(self, selector: selectors.BaseSelector) -> None:
        self.max_count = _max_count()
        self.head_timeout_seconds = HEAD_TIMEOUT_SECONDS
        self.received_bytes = 0
        self._selector = selector
        self._all: dict[PendingConnection, None] = {}

    def __len__(self) -> int:
        return len(self._all)

    def __contains__(self, pending: PendingConnection) -> bool:
        return pending in self._all

    @property
    def next_deadline(self) -> float | None:
        """When the first of them has had its time."""
        return min((each.deadline for each in self._all), default=None)

    def add(self, connection: socket.socket) -> PendingConnection | None:
        """Take in a connection that was accepted; None if it cannot be watched."""
        connection.settimeout(0)
        pending = PendingConnection(connection, time.monotonic() + self.head_timeout_seconds)
        try:
            self._selector.register(connection, selectors.EVENT_READ, pending)
        except (OSError, ValueError):
            connection.close()
            return None
        self._all[pending] = None
        return pending

    def add_received(self, pending: PendingConnection, received: bytes) -> None:
        """Keep what was received of a head."""
        pending.received += received
        self.received_bytes += len(received)

    def start_draining(self, pending: PendingConnection) -> None:
        """Let a client that was refused read the refusal."""
        self.received_bytes -= len(pending.received)
        pending.received.clear()
        pending.is_draining = True
        pending.deadline = time.monotonic() + DRAIN_TIMEOUT_SECONDS

    def evict(self) -> bool:
        """Drop the oldest until the limits are kept; whether that was necessary."""
        before = len(self._all)
        while len(self._all) > self.max_count or self.received_bytes > MAX_PENDING_BYTES:
            self.drop(next(iter(self._all)))
        return len(self._all) < before

    def expire(self) -> None:
        """Drop those whose time is over."""
        now = time.monotonic()
        for each in [each for each in self._all if each.deadline <= now]:
            self.drop(each)

    def drop_half(self) -> None:
        """Drop the older half."""
        for each in list(self._all)[: (len(self._all) + 1) // 2]:
            self.drop(each)

    def drop_all(self) -> None:
        """Drop every one of them."""
        for each in list(self._all):
            self.drop(each)

    def drop(self, pending: PendingConnection) -> None:
        """Close a connection, and forget it."""
        self.forget(pending)
        pending.connection.close()

    def forget(self, pending: PendingConnection) -> None:
        """Watch a connection no longer; it stays open."""
        if pending in self._all:
            del self._all[pending]
            self.received_bytes -= len(pending.received)
            self._selector.unregister(pending.connection)


def _max_count() -> int:
    """Return how many connections may be pending, by how many descriptors we may have."""
    if sys.platform == "win32":  # where select() takes 512 sockets in all
        return MAX_PENDING_CONNECTIONS // 2
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MAX_PENDING_CONNECTIONS
    share = int(soft * PENDING_SHARE)
    return min(max(share, MIN_PENDING_CONNECTIONS), MAX_PENDING_CONNECTIONS)
