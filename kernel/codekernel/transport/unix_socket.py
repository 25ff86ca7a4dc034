"""The local endpoint as a Unix socket; both sides read the account of the other."""

import errno
import os
import socket
import stat
import struct
import sys
from collections.abc import Callable
from contextlib import suppress

from codekernel.errors import EndpointUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:  # a relay does without
    from pathlib import Path

assert sys.platform != "win32"

# The kernel accepts at once; a full queue means hundreds of clients in the same instant.
LISTEN_BACKLOG = 128

_DRAIN_BYTES = 64 * 1024
_MACOS_SOL_LOCAL, _MACOS_LOCAL_PEERCRED, _MACOS_XUCRED_BYTES = 0, 1, 76


class SocketPipe:
    """A connected socket, read and written like the pipes of stdio."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes as soon as there are any; empty at the end."""
        return self._connection.recv(size)

    def write(self, content: bytes) -> None:
        """Write everything."""
        self._connection.sendall(content)

    def set_timeout(self, seconds: float | None) -> None:
        """Let ``read`` and ``write`` raise TimeoutError after so long; None: never."""
        self._connection.settimeout(seconds)

    def close_reading(self) -> None:
        """End the reading direction; a thread that reads sees the end."""
        with suppress(OSError):  # the other side was first
            self._connection.shutdown(socket.SHUT_RD)

    def end_writing(self) -> None:
        """End the writing direction; the other side reads to the end."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)

    def finish_writing(self, timeout_seconds: float) -> None:
        """End the writing direction and wait until the other side has closed too."""
        self.end_writing()
        with suppress(OSError):
            self._connection.settimeout(timeout_seconds)
            while self._connection.recv(_DRAIN_BYTES):
                pass

    def close(self) -> None:
        """End both directions; a thread that reads sees the end."""
        with suppress(OSError):  # the other side was first
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()


class UnixSocketListener:
    """Accepts connections of the own account; the endpoint is removed by ``close``."""

    def __init__(self, path: "Path", release_lock: Callable[[], None] = lambda: None) -> None:
        """Listen. Only the holder of the instance lock may: what is there is stale, and removed.

        ``release_lock`` lets another process listen. Raises EndpointUnavailable.
        """
        self.path = path
        self._release_lock = release_lock
        self._is_closed = False
        try:
            path.unlink(missing_ok=True)
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._socket.bind(str(path))
            path.chmod(stat.S_IRUSR | stat.S_IWUSR)
            self._socket.listen(LISTEN_BACKLOG)
            self._inode = path.stat().st_ino
        except OSError as error:
            raise EndpointUnavailable(
                f"{path} cannot be used: {error.strerror or error}"
            ) from error

    def accept(self) -> SocketPipe | None:
        """Wait for the next connection of the own account; None once closed."""
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError as error:
                if self._socket.fileno() < 0 or not _is_passing(error):
                    return None
                continue
            if read_peer_uid(connection) in {os.geteuid(), None}:
                return SocketPipe(connection)
            connection.close()

    def hand_over(self) -> None:
        """Close, and let another process listen."""
        self.close()
        self._release_lock()

    def close(self) -> None:
        """Accept no more, and remove the endpoint unless another kernel has made a new one."""
        if self._is_closed:
            return  # by now another socket may have the number of ours
        self._is_closed = True
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes ``accept``
        self._socket.close()
        with suppress(OSError):
            if self.path.stat().st_ino == self._inode:
                self.path.unlink()


def connect_unix_socket(path: "str | Path") -> SocketPipe:
    """Connect to the kernel of this account.

    Raises OSError if none listens, EndpointUnavailable if another account does.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(path))
    except OSError:
        connection.close()
        raise
    if read_peer_uid(connection) not in {os.geteuid(), None}:
        connection.close()
        raise EndpointUnavailable(
            f"{path} belongs to another account, so nothing is sent to it: remove it, or use"
            " another folder with --user-data"
        )
    return SocketPipe(connection)


def read_peer_uid(connection: socket.socket) -> int | None:
    """Return the account at the other end; None where the system does not tell."""
    if hasattr(socket, "SO_PEERCRED"):  # Linux
        found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", found)[1])
    try:
        found = connection.getsockopt(_MACOS_SOL_LOCAL, _MACOS_LOCAL_PEERCRED, _MACOS_XUCRED_BYTES)
        return int(struct.unpack_from("I", found, 4)[0])
    except OSError:
        return None  # the folder is private to the account


def _is_passing(error: OSError) -> bool:
    """Return whether the next ``accept`` may succeed: the peer is gone, or descriptors ran out."""
    return error.errno in {errno.ECONNABORTED, errno.EINTR, errno.EMFILE, errno.ENFILE}
