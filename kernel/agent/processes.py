"""Child processes in groups of their own, ended with everything that they started."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

# Between being asked to end and being ended.
GRACE_SECONDS = 2.0
_WINDOWS = sys.platform == "win32"
# Nobody is there to press a key or to read colours.
_QUIET = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
# Who starts us in the background of a script has Ctrl-C ignored by us and by all that we start. Not
# even a shell's trap can undo that, but whoever runs just before the program can.
_HEARING = (
    "import os, signal, sys; "
    "[signal.signal(int(number), signal.SIG_DFL) for number in sys.argv[1].split(',')]; "
    "os.execvp(sys.argv[2], sys.argv[2:])"
)
# A child must not act for the session that started us, nor see what is meant for this process.
_OURS = ("CODEKERNEL_", "POCKETRAG_")


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What a command finds in its environment."""
    kept = {name: value for name, value in environ.items() if not name.startswith(_OURS)}
    return {**kept, **_QUIET}


def shell_words(command: str) -> list[str]:
    """The words that run a command line."""
    if _WINDOWS:
        return [os.environ.get("COMSPEC", "cmd.exe"), "/d", "/s", "/c", command]
    return ["/bin/sh", "-c", command]


def hearing(words: list[str]) -> list[str]:
    """The words that run a program which hears Ctrl-C even if we do not."""
    if _WINDOWS:
        return words
    deaf = [str(int(one)) for one in (signal.SIGINT, signal.SIGQUIT) if _is_ignored(one)]
    return [sys.executable, "-I", "-S", "-c", _HEARING, ",".join(deaf), *words] if deaf else words


def _is_ignored(number: signal.Signals) -> bool:
    return signal.getsignal(number) is signal.SIG_IGN


def start(
    words: list[str],
    folder: Path,
    *,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.PIPE,
) -> "subprocess.Popen[bytes]":
    """Start a program as the first of a group; stderr goes where stdout goes. Raises OSError."""
    flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)  # of Windows
    return subprocess.Popen(  # noqa: S603 - running what the agent asks for is the purpose
        hearing(words),
        cwd=folder,
        env=environment(os.environ),
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.STDOUT,
        start_new_session=not _WINDOWS,
        creationflags=flags,
    )


def end_group(process: "subprocess.Popen[bytes]") -> None:
    """End a program and its group: asked first, then made to; returns when it has ended."""
    _signal_group(process, gently=True)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_SECONDS)
    # Others of the group may live on when the first has ended.
    _signal_group(process, gently=False)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_SECONDS)


def end_rest_of_group(process: "subprocess.Popen[bytes]") -> None:
    """End what a program that has ended left running in its group."""
    _signal_group(process, gently=False)


if sys.platform == "win32":

    def _signal_group(process: "subprocess.Popen[bytes]", *, gently: bool) -> None:
        if gently:
            with contextlib.suppress(OSError, ValueError):
                process.send_signal(signal.CTRL_BREAK_EVENT)
            return
        taskkill = shutil.which("taskkill")
        if taskkill and process.poll() is None:
            subprocess.run(  # noqa: S603 - a program of Windows
                [taskkill, "/T", "/F", "/PID", str(process.pid)],
                check=False,
                capture_output=True,
            )

else:

    def _signal_group(process: "subprocess.Popen[bytes]", *, gently: bool) -> None:
        # The group has the number of its first process as long as anything of it lives.
        signals = (signal.SIGHUP, signal.SIGTERM) if gently else (signal.SIGKILL,)
        for each in signals:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, each)
