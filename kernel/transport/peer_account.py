"""Which account of this machine is at the other end of a loopback connection.

Linux tells the owner of every TCP socket to everybody. Elsewhere nothing tells it without
privileges, and the answer is that it is not known.
"""

import os
import socket
import struct
from pathlib import Path

_TABLE = Path("/proc/net/tcp")
_LOCAL, _REMOTE, _UID = 1, 2, 7


def is_own_account(connection: socket.socket) -> bool:
    """Whether a process of our own account has connected; False if that cannot be told."""
    try:
        wanted = (_format(connection.getpeername()), _format(connection.getsockname()))
        rows = [line.split() for line in _TABLE.read_text(encoding="ascii").splitlines()[1:]]
        own = str(os.getuid())
    except (OSError, AttributeError, struct.error):
        return False
    owners = [row[_UID] for row in rows if (row[_LOCAL], row[_REMOTE]) == wanted]
    return owners == [own]


def can_tell_account() -> bool:
    """Whether ``is_own_account`` has a way to find out on this system."""
    return os.access(_TABLE, os.R_OK)


def _format(address: tuple[str, int]) -> str:
    """``("127.0.0.1", 80)`` as the table has it: the four bytes in the order of this machine."""
    (number,) = struct.unpack("=I", socket.inet_aton(address[0]))
    return f"{number:08X}:{address[1]:04X}"
