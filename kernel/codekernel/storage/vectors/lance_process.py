"""Has steps on LanceDB tables done by a child process, one for all tables of this process.

It is started by the first step, and ends by itself when there are none for a while. A step on which
it ends is done again by a new one.
"""

import atexit
import logging
import pickle
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codekernel.domain.child_process import require_pipe, start_python_child
from codekernel.errors import StorageError

if TYPE_CHECKING:  # imports LanceDB
    from codekernel.storage.vectors.lance_worker import LanceReply

logger = logging.getLogger(__name__)

# The first end may be that of a process that was idle.
MAX_ATTEMPTS = 3


class LanceProcess:
    """The child process; used by any thread, one step at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        """The id of the process, if there is one."""
        process = self._process
        return process.pid if process else None

    def call(self, folder: Path, dimensions: int, step: str, *arguments: Any) -> Any:
        """Return what a step returns. Raises StorageError, of its kinds VectorsDamaged."""
        request = pickle.dumps((str(folder), dimensions, step, arguments), pickle.HIGHEST_PROTOCOL)
        with self._lock:
            for _ in range(MAX_ATTEMPTS):
                if reply := self._exchange(request):
                    break
            else:
                raise StorageError(
                    f"The vectors in {folder} cannot be read or written: the process that does so"
                    f" has ended {MAX_ATTEMPTS} times."
                )
        result, error = reply
        if error:
            raise error
        return result

    def close(self) -> None:
        """End the process, whatever it is doing."""
        process, self._process = self._process, None
        if process:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # the last request could not be flushed
                    require_pipe(pipe).close()
            process.wait()

    def _exchange(self, request: bytes) -> "LanceReply | None":
        """Return the reply; None if the process has ended meanwhile."""
        try:
            if not self._process:
                self._process = _start()
                pickle.load(require_pipe(self._process.stdout))  # noqa: S301 - it is ready
            process = self._process
            stdin = require_pipe(process.stdin)
            stdin.write(request)
            stdin.flush()
            reply: LanceReply = pickle.load(require_pipe(process.stdout))  # noqa: S301 - our own child
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            self.close()
            return None
        except BaseException:  # its reply would be taken for that of the next step
            self.close()
            raise
        return reply


def _start() -> "subprocess.Popen[bytes]":
    try:
        return start_python_child("codekernel.storage.vectors.lance_worker")
    except OSError as error:
        raise StorageError(f"no process to write vectors can be started: {error}") from error


_process = LanceProcess()

atexit.register(_process.close)

call_lance = _process.call
