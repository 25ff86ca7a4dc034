"""The local endpoint of a kernel: a Unix socket or a named pipe of Windows, for one account.

Both sides check that the other runs as the same account. Imports little, because a terminal search
starts here.
"""

import os
import stat
import sys
from contextlib import suppress

from codekernel.errors import EndpointUnavailable

if sys.platform == "win32":
    from codekernel.transport.named_pipe_windows import NamedPipeListener as LocalListener
    from codekernel.transport.named_pipe_windows import connect_named_pipe as connect_local
else:
    from codekernel.transport.unix_socket import UnixSocketListener as LocalListener
    from codekernel.transport.unix_socket import connect_unix_socket as connect_local

TYPE_CHECKING = False
if TYPE_CHECKING:  # a relay does without
    from pathlib import Path
    from typing import Protocol
else:
    Protocol = object

__all__ = [
    "LocalListener",
    "LocalPipe",
    "choose_endpoint",
    "choose_endpoint_path",
    "connect_local",
]

# sun_path has 108 bytes on Linux and 104 on macOS, with the final zero. The name of a named pipe
# has 256 characters, and is made from a hash of the path.
MAX_SOCKET_PATH_BYTES = 100


class LocalPipe(Protocol):
    """A connection of the endpoint, read and written like the pipes of stdio.

    One thread reads while another one writes.
    """

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes as soon as there are any; empty at the end."""

    def write(self, content: bytes) -> None:
        """Write everything."""

    def set_timeout(self, seconds: float | None) -> None:
        """Let ``read`` and ``write`` raise TimeoutError after so long; None: never."""

    def close_reading(self) -> None:
        """End the reading direction; a thread that reads sees the end."""

    def end_writing(self) -> None:
        """End the writing direction; the other side reads to the end."""

    def finish_writing(self, timeout_seconds: float) -> None:
        """End the writing direction and wait until the other side has closed too."""

    def close(self) -> None:
        """End both directions; a thread that reads sees the end."""


def choose_endpoint_path(user_data: "Path") -> "Path":
    """Return the same as ``choose_endpoint``, as a Path."""
    return type(user_data)(choose_endpoint(str(user_data)))


def choose_endpoint(user_data: str) -> str:
    """Return where the kernel of a userData folder listens; its folder exists and is private.

    A path too long for a socket, and a folder that cannot be written, are replaced by a private
    folder of the account elsewhere. Raises EndpointUnavailable.
    """
    path = os.path.join(user_data, "run", "kernel.sock")
    if _can_be_socket(path):
        with suppress(OSError):  # a full or read-only disk
            _make_private(os.path.dirname(path))
            return path
    from codekernel.transport.runtime_folders import list_runtime_sockets  # noqa: PLC0415 - seldom needed

    paths = list_runtime_sockets(user_data)
    path = next(filter(_can_be_socket, paths), paths[-1])
    if not _can_be_socket(path):
        raise EndpointUnavailable(f"{path} is too long for a socket")
    folder = os.path.dirname(path)
    try:
        _make_private(folder)
    except OSError as error:
        reason = error.strerror or error
        raise EndpointUnavailable(f"{folder} cannot be used: {reason}") from error
    return path


def _can_be_socket(path: str) -> bool:
    return sys.platform == "win32" or len(os.fsencode(path)) <= MAX_SOCKET_PATH_BYTES


def _make_private(folder: str) -> None:
    """Make a folder that only this account can enter. Raises OSError if it is not one."""
    os.makedirs(folder, mode=stat.S_IRWXU, exist_ok=True)
    seen = os.lstat(folder)
    if not stat.S_ISDIR(seen.st_mode):
        raise NotADirectoryError(0, "it is a link, or not a folder", folder)
    if sys.platform != "win32":  # where folders of an account inherit an access list
        if seen.st_uid != os.geteuid():
            raise PermissionError(0, "it belongs to another account", folder)
        if seen.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            os.chmod(folder, stat.S_IRWXU)
    if not os.access(folder, os.W_OK):
        raise PermissionError(0, "it cannot be written", folder)
