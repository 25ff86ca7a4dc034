"""The command ``codekernel`` as a person runs it: in a folder, in a pipe or on a terminal."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from support.kernel_process import bare_environment

TIMEOUT_SECONDS = 60
CODEKERNEL = (sys.executable, "-m", "codekernel")


def codekernel(
    user_data: Path, folder: Path, *words: str, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, its output in pipes."""
    return subprocess.run(
        [*CODEKERNEL, *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="surrogateescape",
        env={**bare_environment(user_data), **environ},
        cwd=folder,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


def run_with_closed_stdout(user_data: Path, *words: str, cwd: Path) -> tuple[int, str]:
    """Run a command whose stdout is closed at once; its exit code and what it complains of."""
    with subprocess.Popen(
        [*CODEKERNEL, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=bare_environment(user_data),
        cwd=cwd,
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        complaints = process.stderr.read().decode()
        return process.wait(TIMEOUT_SECONDS), complaints


def _enable_sigint() -> None:
    """Hear Ctrl-C even if the tests were started in the background, where shells ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _own_terminal() -> None:
    """Be the one to whom stdin belongs, so that Ctrl-C typed there is a signal."""
    import fcntl  # noqa: PLC0415 - there is none on Windows
    import termios  # noqa: PLC0415

    _enable_sigint()
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class TerminalScreen:
    """A program whose stdin, stdout and stderr are one pseudo-terminal; what it shows is kept."""

    def __init__(self, command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> None:
        import pty  # noqa: PLC0415 - there is none on Windows

        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={"TERM": "xterm-256color", **environ},
            cwd=folder,
            preexec_fn=_own_terminal,  # noqa: PLW1509 - does nothing that a thread could hold
        )
        os.close(theirs)
        self.shown = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(TIMEOUT_SECONDS)
        os.close(self._ours)

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def read_until(self, true: Callable[[str], bool]) -> str:
        """Everything shown so far, once it satisfies ``true`` or has ended."""
        while not true(self.shown):
            try:
                read = os.read(self._ours, 65536)
            except OSError:  # Linux says so when the last writer is gone
                break
            if not read:
                break
            self.shown += read.decode(errors="replace")
        return self.shown

    def finish(self) -> tuple[int, str]:
        """The exit code and everything shown."""
        self.read_until(lambda _: False)
        return self.process.wait(TIMEOUT_SECONDS), self.shown


class Terminal(TerminalScreen):
    """A command of codekernel on a terminal."""

    def __init__(self, user_data: Path, folder: Path, *words: str, **environ: str) -> None:
        super().__init__([*CODEKERNEL, *words], folder, {**bare_environment(user_data), **environ})
