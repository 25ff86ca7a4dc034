"""Connect to the kernel of a userData folder; start it if there is none."""

import os
import sys
import threading
import time

from codekernel.errors import KernelNotRunning, KernelUnavailable
from codekernel.transport.local_endpoint import LocalPipe, choose_endpoint, connect_local

TYPE_CHECKING = False
if TYPE_CHECKING:  # 10 ms, and seldom needed
    from pathlib import Path
    from subprocess import Popen

# From the start of the process to its endpoint: 0.1 s, or seconds on a busy machine.
START_TIMEOUT_SECONDS = 20.0

# A client that was stopped in the middle of its turn holds up the others for no longer.
MAX_TURN_SECONDS = 3.0

_FIRST_RETRY_SECONDS, _MAX_RETRY_SECONDS = 0.005, 0.05

# DETACHED_PROCESS and CREATE_NEW_PROCESS_GROUP
_WINDOWS_DETACHED_FLAGS = 0x00000008 | 0x00000200

# Exit code of a kernel that finds another one at its endpoint.
ALREADY_RUNNING_EXIT_CODE = 75


def wants_standalone(user_data: "str | Path") -> bool:
    """Return whether ``kernel.standalone`` is true in settings.json.

    Only looked for, because parsing all settings takes longer than a search.
    """
    try:
        with open(f"{user_data}/settings.json", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return False
    return '"standalone"' in text and any(
        '"standalone":true' in "".join(line.partition("//")[0].split())
        for line in text.splitlines()
    )


def connect_to_kernel(user_data: "str | Path", *, may_start: bool = True) -> LocalPipe:
    """Connect to the kernel that serves ``user_data``; start one if there is none.

    Raises KernelNotRunning if there is none and none may be started, KernelUnavailable if it
    cannot be started, EndpointUnavailable if no endpoint can be used.
    """
    path = choose_endpoint(str(user_data))
    turn = StartTurn(f"{path}.start")
    try:
        return _connect_or_start(path, user_data, turn, may_start=may_start)
    finally:
        turn.release()


def _connect_or_start(
    path: str, user_data: "str | Path", turn: "StartTurn", *, may_start: bool
) -> LocalPipe:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    started: Popen[bytes] | None = None
    pause = _FIRST_RETRY_SECONDS
    while True:
        try:
            return connect_local(path)
        except (FileNotFoundError, ConnectionError):
            pass
        except OSError as error:
            raise KernelUnavailable(
                f"{path} cannot be reached: {error.strerror or error}"
            ) from error
        if not may_start:
            raise KernelNotRunning("no kernel is running for this userData folder")
        if started is None or started.poll() == ALREADY_RUNNING_EXIT_CODE:
            may_be_stuck = time.monotonic() > deadline - START_TIMEOUT_SECONDS + MAX_TURN_SECONDS
            started = start_kernel(user_data) if turn.try_take() or may_be_stuck else None
        elif started.poll() is not None:
            raise KernelUnavailable(
                f"the kernel ended at its start with code {started.returncode};"
                f" {os.path.join(user_data, 'logs', 'kernel.log')} says why"
            )
        if time.monotonic() > deadline:
            raise KernelUnavailable(
                f"the kernel does not answer at {path}; end it with: codekernel stop"
            )
        time.sleep(pause)
        pause = min(2 * pause, _MAX_RETRY_SECONDS)


class StartTurn:
    """Whose turn it is to start a kernel, of all clients that have lost theirs.

    Six clients that start one each keep two cores busy for a fifth of a second, and five of the
    processes find that they are not needed.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = -1

    def try_take(self) -> bool:
        """Return whether it is this client's turn; where files cannot be locked it always is."""
        if self._descriptor >= 0 or sys.platform == "win32":
            return True
        import fcntl  # noqa: PLC0415 - only where no kernel is running

        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:  # a full or read-only disk
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        except OSError:
            os.close(descriptor)
            return True
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Let another client start the next one."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def start_kernel(user_data: "str | Path") -> "Popen[bytes]":
    """Start a kernel that outlives this process and holds none of its files."""
    import subprocess  # noqa: PLC0415 - only where no kernel is running

    command = [sys.executable, "-m", "codekernel", "kernel", "--user-data", str(user_data)]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=user_data if os.path.isdir(user_data) else None,
        start_new_session=True,
        creationflags=_WINDOWS_DETACHED_FLAGS if os.name == "nt" else 0,
    )
    # A client that lives longer than the kernel must wait for it, or a zombie stays.
    threading.Thread(target=process.wait, name="kernel", daemon=True).start()
    return process
