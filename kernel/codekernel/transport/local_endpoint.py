"""The local endpoint of a kernel: a Unix socket for one account.

Both sides check that the other runs as the same account. Imports little, because a terminal search
starts here.
"""

import os
import socket
import stat
import struct
from contextlib import suppress
from pathlib import Path

from codekernel.errors import EndpointUnavailable

# sun_path has 108 bytes on Linux and 104 on macOS, with the final zero.
MAX_SOCKET_PATH_BYTES = 100

# The kernel accepts at once; a full queue means hundreds of clients in the same instant.
LISTEN_BACKLOG = 128

_DRAIN_BYTES = 64 * 1024
_SOCKET_NAME = "kernel.sock"
_MACOS_SOL_LOCAL, _MACOS_LOCAL_PEERCRED, _MACOS_XUCRED_BYTES = 0, 1, 76


# Windows has none in Python; there, every program has a kernel of its own.
CAN_SHARE = hasattr(socket, "AF_UNIX")


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


class LocalListener:
    """Accepts connections of the own account; the endpoint is removed by ``close``."""

    def __init__(self, path: Path) -> None:
        """Listen. Only the holder of the instance lock may: what is there is stale, and removed.

        Raises EndpointUnavailable.
        """
        self._path = path
        try:
            path.unlink(missing_ok=True)
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._socket.bind(str(path))
            path.chmod(stat.S_IRUSR | stat.S_IWUSR)
            self._socket.listen(LISTEN_BACKLOG)
            self._inode = path.stat().st_ino
        except OSError as error:
            raise EndpointUnavailable(f"{path} cannot be used: {error.strerror}") from error

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

    def close(self) -> None:
        """Accept no more, and remove the endpoint unless another kernel has made a new one."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes ``accept``
        self._socket.close()
        with suppress(OSError):
            if self._path.stat().st_ino == self._inode:
                self._path.unlink()


def connect_local(path: Path) -> SocketPipe:
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


def choose_endpoint_path(user_data: Path) -> Path:
    """Return where the kernel of a userData folder listens; its folder exists and is private.

    A path too long for a socket, and a folder that cannot be written, are replaced by a private
    folder of the account elsewhere. Raises EndpointUnavailable.
    """
    folder = user_data / "run"
    if len(os.fsencode(folder / _SOCKET_NAME)) <= MAX_SOCKET_PATH_BYTES:
        with suppress(OSError):  # a full or read-only disk
            _make_private(folder)
            return folder / _SOCKET_NAME
    from hashlib import blake2b  # noqa: PLC0415 - seldom needed

    name = blake2b(os.fsencode(user_data), digest_size=8).hexdigest()
    folder = _find_runtime_folder()
    path = folder / f"{name}.sock"
    try:
        _make_private(folder)
    except OSError as error:
        raise EndpointUnavailable(f"{folder} cannot be used: {error.strerror or error}") from error
    return path


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


def _find_runtime_folder() -> Path:
    given = os.environ.get("XDG_RUNTIME_DIR")
    if given and Path(given).is_dir():
        return Path(given, "codekernel")
    from tempfile import gettempdir  # noqa: PLC0415 - seldom needed

    return Path(gettempdir(), f"codekernel-{os.geteuid()}")


def _make_private(folder: Path) -> None:
    """Make a folder that only this account can enter. Raises OSError if it is not one."""
    folder.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
    seen = folder.lstat()
    if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.geteuid():
        raise NotADirectoryError(0, "it is a link, or belongs to another account", str(folder))
    if seen.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        folder.chmod(stat.S_IRWXU)
    if not os.access(folder, os.W_OK):
        raise PermissionError(0, "it cannot be written", str(folder))


def _is_passing(error: OSError) -> bool:
    """Return whether the next ``accept`` may succeed: the peer is gone, or descriptors ran out."""
    import errno  # noqa: PLC0415 - only after an error

    return error.errno in {errno.ECONNABORTED, errno.EINTR, errno.EMFILE, errno.ENFILE}
