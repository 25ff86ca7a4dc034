"""The two ends between a terminal's program and us: a pseudo-terminal, or pipes on Windows."""

import contextlib
import os
import select
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Protocol

from kernel.agent.processes import start

ROWS, COLUMNS = 40, 160
# How often a reader looks whether it is still wanted.
_LOOK_SECONDS = 0.2


class Connection(Protocol):
    """A running program, what it says and what it is told."""

    process: "subprocess.Popen[bytes]"

    def read(self, size: int) -> bytes:
        """What is said next; nothing once the program has ended or we have hung up."""

    def write(self, data: bytes, seconds: float) -> bool:
        """Whether all was taken in time."""

    def hang_up(self) -> None:
        """Read only what has been said already."""

    def close(self) -> None:
        """Give back the descriptors."""


if sys.platform == "win32":

    class _Pipes:
        """Standard input and output; the program knows that they are no terminal."""

        def __init__(self, words: list[str], folder: Path) -> None:
            self.process = start(words, folder, stdin=subprocess.PIPE)
            assert self.process.stdin  # noqa: S101 - asked for
            assert self.process.stdout  # noqa: S101 - asked for
            self._stdin, self._stdout = self.process.stdin, self.process.stdout

        def read(self, size: int) -> bytes:
            with contextlib.suppress(OSError, ValueError):
                return os.read(self._stdout.fileno(), size)
            return b""

        def write(self, data: bytes, seconds: float) -> bool:
            def put() -> None:
                with contextlib.suppress(OSError, ValueError):
                    self._stdin.write(data)
                    self._stdin.flush()

            writer = threading.Thread(target=put, daemon=True)
            writer.start()
            writer.join(seconds)
            return not writer.is_alive()

        def hang_up(self) -> None:
            with contextlib.suppress(OSError, ValueError):
                self._stdin.close()

        def close(self) -> None:
            with contextlib.suppress(OSError, ValueError):
                self._stdout.close()

    def connect(words: list[str], folder: Path) -> Connection:
        """Start a program and talk to it through pipes. Raises OSError."""
        return _Pipes(words, folder)

else:
    import fcntl
    import pty
    import struct
    import termios

    # The first program of a session that opens a terminal has it for its own from then on, so that
    # Ctrl-C reaches it; the shell does that, as no Python may run between fork and exec.
    _TAKE_TERMINAL = 'exec <>"$0" >&0 2>&0; exec "$@"'

    class _PseudoTerminal:
        def __init__(self, words: list[str], folder: Path) -> None:
            self._ours, theirs = pty.openpty()
            try:
                os.set_blocking(self._ours, False)
                fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
                name = os.ttyname(theirs)
                take = ["/bin/sh", "-c", _TAKE_TERMINAL, name, *words]
                self.process = start(take, folder, stdout=theirs)
            except BaseException:
                os.close(self._ours)
                raise
            finally:
                os.close(theirs)
            self._hung_up = threading.Event()

        def read(self, size: int) -> bytes:
            while True:
                if _is_ready(self._ours, select.POLLIN, _LOOK_SECONDS):
                    try:
                        return os.read(self._ours, size)
                    except BlockingIOError:
                        continue
                    except OSError:  # EIO: nobody has the other end open any more
                        return b""
                if self._hung_up.is_set():
                    return b""

        def write(self, data: bytes, seconds: float) -> bool:
            deadline = time.monotonic() + seconds
            while data:
                left = deadline - time.monotonic()
                if left <= 0 or not _is_ready(self._ours, select.POLLOUT, left):
                    return False
                try:
                    data = data[os.write(self._ours, data) :]
                except BlockingIOError:
                    continue
                except OSError:
                    return False
            return True

        def hang_up(self) -> None:
            self._hung_up.set()

        def close(self) -> None:
            with contextlib.suppress(OSError):
                os.close(self._ours)

    def _is_ready(descriptor: int, event: int, seconds: float) -> bool:
        """Whether a read or a write would do something; poll knows descriptors above 1023."""
        poll = select.poll()
        poll.register(descriptor, event)
        return bool(poll.poll(seconds * 1000))

    def connect(words: list[str], folder: Path) -> Connection:
        """Start a program in a pseudo-terminal of its own. Raises OSError."""
        return _PseudoTerminal(words, folder)
