"""Start a module of this package as a child process, and keep its stdout for its replies.

A child is in a process group of its own, so that Ctrl-C in the terminal does not reach it, and has
no console window on Windows.
"""

import os
import subprocess
import sys
from contextlib import suppress
from typing import IO, Any, BinaryIO

if sys.platform == "linux":
    import fcntl

CHILD_PROCESS_OPTIONS: dict[str, Any] = (
    {"process_group": 0}
    if os.name == "posix"
    else {
        "creationflags": getattr(subprocess, "CREATE_NO_WINDOW", 0)
        | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    }
)

# Nothing is imported from the working directory, which may be a user's repository; a packaged
# kernel, whose launcher passes -I, reads no PYTHON* variables either.
_ISOLATION_FLAG = "-I" if sys.flags.isolated else "-P"


# The system gives a pipe 64 KB: whoever writes a longer message waits for the turn of the reader.
PIPE_BYTES = 262_144


def start_python_child(module: str, *arguments: str) -> "subprocess.Popen[bytes]":
    """Start ``python -m module`` with pipes for stdin and stdout; raises OSError."""
    process = subprocess.Popen(
        [sys.executable, _ISOLATION_FLAG, "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        **CHILD_PROCESS_OPTIONS,
    )
    for pipe in (process.stdin, process.stdout):
        _enlarge_pipe(require_pipe(pipe))
    return process


def _enlarge_pipe(pipe: IO[bytes]) -> None:
    if sys.platform == "linux":
        with suppress(OSError):  # the account has too many large ones
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)


def open_reply_stream(buffering: int = -1) -> BinaryIO:
    """Return the child's stdout and redirect descriptor 1 to stderr: a stray print is no reply."""
    replies: BinaryIO = os.fdopen(os.dup(1), "wb", buffering)
    os.dup2(2, 1)
    return replies


def require_pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    """Return a pipe that Popen was asked for."""
    if pipe is None:
        raise ValueError("the child was started without this pipe")
    return pipe
