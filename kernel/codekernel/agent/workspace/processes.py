"""Child processes in their own process group, terminated with everything they started.

The pseudo-terminal (pipes on Windows) that interactive ones run in.
"""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from codekernel.domain.child_process import require_pipe

# Between being asked to end and being ended.
TERMINATE_TIMEOUT_SECONDS = 2.0

_IS_WINDOWS = sys.platform == "win32"

# Nobody is there to press a key or to read colours.
_NON_INTERACTIVE_ENVIRONMENT = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}

# A process started in the background of a script ignores Ctrl-C, and so do its children. Not even a
# shell's trap can undo that, but a program that runs just before exec can.
_DEFAULT_SIGNALS_SCRIPT = (
    "import os, signal, sys; "
    "[signal.signal(int(number), signal.SIG_DFL) for number in sys.argv[1].split(',')]; "
    "os.execvp(sys.argv[2], sys.argv[2:])"
)

# A child must not act for the session that started us, nor see what is meant for this process.
_PRIVATE_PREFIXES = ("CODEKERNEL_", "POCKETRAG_")


def build_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command."""
    kept = {name: environ[name] for name in environ if not name.startswith(_PRIVATE_PREFIXES)}
    return {**kept, **_NON_INTERACTIVE_ENVIRONMENT}


def build_shell_command(command: str) -> list[str]:
    """Return the arguments that run a command line."""
    if _IS_WINDOWS:
        return [os.environ.get("COMSPEC", "cmd.exe"), "/d", "/s", "/c", command]
    return ["/bin/sh", "-c", command]


def wrap_with_default_signals(words: list[str]) -> list[str]:
    """Return arguments that run a program with default SIGINT and SIGQUIT, if we ignore them."""
    if _IS_WINDOWS:
        return words
    numbers = (signal.SIGINT, signal.SIGQUIT)
    ignored = [str(int(one)) for one in numbers if signal.getsignal(one) is signal.SIG_IGN]
    if not ignored:
        return words
    return [sys.executable, "-I", "-S", "-c", _DEFAULT_SIGNALS_SCRIPT, ",".join(ignored), *words]


def start_process(
    words: list[str],
    folder: Path,
    *,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.PIPE,
) -> "subprocess.Popen[bytes]":
    """Start a program as leader of a process group, stderr merged into stdout. Raises OSError."""
    return subprocess.Popen(
        wrap_with_default_signals(words),
        cwd=folder,
        env=build_environment(os.environ),
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.STDOUT,
        start_new_session=not _IS_WINDOWS,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # of Windows
    )


def terminate_group(process: "subprocess.Popen[bytes]") -> None:
    """Terminate a program and its group, then kill what is left; return when it has ended."""
    # Twice, for others of the group may live on when the first has ended.
    for gently in (True, False):
        signal_group(process, gently=gently)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(TERMINATE_TIMEOUT_SECONDS)


if sys.platform == "win32":

    def signal_group(process: "subprocess.Popen[bytes]", *, gently: bool) -> None:
        """Ask a program and its group to end, or kill what runs of them."""
        if gently:
            with contextlib.suppress(OSError, ValueError):
                process.send_signal(signal.CTRL_BREAK_EVENT)
            return
        taskkill = shutil.which("taskkill")
        if taskkill and process.poll() is None:
            command = [taskkill, "/T", "/F", "/PID", str(process.pid)]
            subprocess.run(command, check=False, capture_output=True)

else:

    def signal_group(process: "subprocess.Popen[bytes]", *, gently: bool) -> None:
        """Ask a program and its group to end, or kill what runs of them."""
        # The group has the number of its first process as long as anything of it lives.
        signals = (signal.SIGHUP, signal.SIGTERM) if gently else (signal.SIGKILL,)
        for each in signals:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, each)


TERMINAL_ROWS, TERMINAL_COLUMNS = 40, 160

# How often a reader looks whether it is still wanted.
_POLL_INTERVAL_SECONDS = 0.2


if sys.platform == "win32":

    class PipeConnection:
        """Standard input and output as pipes, which the program can tell from a terminal."""

        def __init__(self, words: list[str], folder: Path) -> None:
            self.process = start_process(words, folder, stdin=subprocess.PIPE)
            self._stdin = require_pipe(self.process.stdin)
            self._stdout = require_pipe(self.process.stdout)

        def read(self, size: int) -> bytes:
            """Read as PseudoTerminal does, and so do the others."""
            with contextlib.suppress(OSError, ValueError):
                return os.read(self._stdout.fileno(), size)
            return b""

        def write(self, data: bytes, seconds: float) -> bool:
            """Write input; return whether all of it was accepted in time."""

            def put() -> None:
                with contextlib.suppress(OSError, ValueError):
                    self._stdin.write(data)
                    self._stdin.flush()

            writer = threading.Thread(target=put, daemon=True)
            writer.start()
            writer.join(seconds)
            return not writer.is_alive()

        def hang_up(self) -> None:
            """Let readers end with the output there is."""
            with contextlib.suppress(OSError, ValueError):
                self._stdin.close()

        def close(self) -> None:
            """Close the descriptors."""
            with contextlib.suppress(OSError, ValueError):
                self._stdout.close()

    TerminalConnection = PipeConnection

else:
    import pty
    import termios

    # The first program of a session that opens a terminal has it for its own from then on, so that
    # Ctrl-C reaches it; the shell does that, as no Python may run between fork and exec.
    _TAKE_TERMINAL = 'exec <>"$0" >&0 2>&0; exec "$@"'

    class PseudoTerminal:
        """A running program in a pseudo-terminal of its own, with its output and input."""

        def __init__(self, words: list[str], folder: Path) -> None:
            """Start the program; raises OSError."""
            self._ours, theirs = pty.openpty()
            with contextlib.ExitStack() as failing, contextlib.ExitStack() as ending:
                failing.callback(os.close, self._ours)
                ending.callback(os.close, theirs)
                os.set_blocking(self._ours, False)
                termios.tcsetwinsize(theirs, (TERMINAL_ROWS, TERMINAL_COLUMNS))
                take = ["/bin/sh", "-c", _TAKE_TERMINAL, os.ttyname(theirs), *words]
                self.process = start_process(take, folder, stdout=theirs)
                failing.pop_all()
            self._hung_up = threading.Event()

        def read(self, size: int) -> bytes:
            """Read the next output; empty once the program has ended or it is hung up."""
            while True:
                if _is_ready(self._ours, select.POLLIN, _POLL_INTERVAL_SECONDS):
                    try:
                        return os.read(self._ours, size)
                    except BlockingIOError:
                        continue
                    except OSError:  # EIO: the other end is closed
                        return b""
                if self._hung_up.is_set():
                    return b""

        def write(self, data: bytes, seconds: float) -> bool:
            """Write input; return whether all of it was accepted in time."""
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
            """Let readers end with the output there is."""
            self._hung_up.set()

        def close(self) -> None:
            """Close the descriptors."""
            with contextlib.suppress(OSError):
                os.close(self._ours)

    def _is_ready(descriptor: int, event: int, seconds: float) -> bool:
        """Return whether a read or write would not block; poll supports descriptors above 1023."""
        poll = select.poll()
        poll.register(descriptor, event)
        return bool(poll.poll(seconds * 1000))

    TerminalConnection = PseudoTerminal
