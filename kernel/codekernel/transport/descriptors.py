"""Claim stdin and stdout for protocol lines.

Afterwards descriptor 0 reads the null device and 1 writes to stderr, so a stray print reaches
the log. Imports only what is built in: the ready line must not wait for imports.
"""

import os
import sys

if sys.platform == "win32":
    import msvcrt

STDIN, STDOUT, STDERR = 0, 1, 2


class StdioPipe:
    """Private descriptors for reading and writing lines; children do not inherit them."""

    __slots__ = ("read_descriptor", "write_descriptor")

    def __init__(self, read_descriptor: int, write_descriptor: int) -> None:
        self.read_descriptor = read_descriptor
        self.write_descriptor = write_descriptor

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes as soon as there are any; empty at the end."""
        return os.read(self.read_descriptor, size)

    def write(self, content: bytes) -> None:
        """Write everything, however small the pipe."""
        view = memoryview(content)
        while view:
            view = view[os.write(self.write_descriptor, view) :]


def claim_stdio() -> StdioPipe:
    """Claim stdin and stdout for this protocol; the rest of the process cannot use them."""
    null = _open_null()
    wire = StdioPipe(os.dup(STDIN), os.dup(STDOUT))
    _make_binary(wire)
    os.dup2(null, STDIN)
    os.dup2(STDERR, STDOUT)
    os.close(null)
    return wire


def _open_null() -> int:
    """The null device, also in place of any standard descriptor the process was started without.

    Otherwise the wire would be given one of their numbers, and stray output with it.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= STDERR:
        pass
    return descriptor


def _make_binary(wire: StdioPipe) -> None:
    """Keep Windows from turning line feeds into carriage returns."""
    if sys.platform == "win32":
        msvcrt.setmode(wire.read_descriptor, os.O_BINARY)
        msvcrt.setmode(wire.write_descriptor, os.O_BINARY)
