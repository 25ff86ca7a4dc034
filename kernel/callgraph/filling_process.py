"""The near side of a process that reads facts: whether it lives, and what it was at work on."""

import subprocess
import sys
import threading
from pathlib import Path

from kernel.domain.child_process import CHILD_OPTIONS

# What lies in the folder somebody asks about is never imported.
_NO_STRANGERS = "-I" if sys.flags.isolated else "-P"
_CHILD = "kernel.callgraph.filling_child"


class FillingProcess:
    """Reads every ``count``-th file of an index, and ends; or when its stdin does."""

    def __init__(self, folder: Path, part: int, count: int) -> None:
        """Start it; raises OSError if the system has no process to give."""
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, _NO_STRANGERS, "-m", _CHILD, str(folder), str(part), str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            **CHILD_OPTIONS,
        )
        self._at_work_on: int | None = None
        self._begun = 0
        self._silent = False
        self._heard = threading.Condition()
        self._listener = threading.Thread(target=self._listen, name="filling", daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        """The system's number of it."""
        return self._process.pid

    def wait_until_at_work(self, files: int) -> bool:
        """Wait until it has begun so many files; false if it ends first."""
        with self._heard:
            return self._heard.wait_for(lambda: self._begun >= files or self._silent) and (
                self._begun >= files
            )

    @property
    def alive(self) -> bool:
        """Whether it still reads."""
        return self._process.poll() is None

    @property
    def failed_to_begin(self) -> bool:
        """Whether it ended by itself before it read anything; asked once it has ended."""
        self._listener.join()
        return self._process.returncode > 0 and self._begun == 0

    @property
    def suspect(self) -> int | None:
        """The file it died on, if it did; asked once it has ended."""
        if self._process.returncode == 0:
            return None
        self._listener.join()
        return self._at_work_on

    def kill(self) -> None:
        """End it, whatever it is doing, and let go of it; what it has committed stays."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()
        self._listener.join()

    def _listen(self) -> None:
        with self._process.stdout or sys.stdin.buffer as said:
            for line in said:
                with self._heard:
                    self._at_work_on = int(line)
                    self._begun += 1
                    self._heard.notify_all()
        with self._heard:
            self._silent = True
            self._heard.notify_all()
