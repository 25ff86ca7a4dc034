"""Run pip (or venv) with its output in a log file; show progress, and explain a failure.

On a terminal one line is redrawn; elsewhere a line is printed every few seconds. Standard library
only. The log is a file, not a pipe, so that pip can finish even if the script is killed.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

POLL_INTERVAL_SECONDS = 0.2
# Between two lines where no line can be redrawn, as in the log of a CI job.
LINE_INTERVAL_SECONDS = 3.0

_MEGABYTE = 1e6
_TEMPORARY_VARIABLES = ("TMPDIR", "TEMP", "TMP")
_FOUND_PACKAGE = re.compile(r"^\s*(?:Collecting|Processing|Requirement already satisfied)\b")
_LOCAL_FILE = re.compile(r"^Processing (\S.*?\.(?:whl|gz|zip))(?: \(from .*)?$")
_DOWNLOADING = re.compile(r"\s*Downloading .*\(([\d.]+) (bytes|kB|MB|GB)\)")
_INSTALLING = re.compile(r"^Installing collected packages: (.*)$")
_RETRYING = re.compile(r"^WARNING: Retrying \(")
_NO_CONNECTION = re.compile(
    r"Retrying \(|NewConnectionError|NameResolutionError|Failed to establish|Max retries exceeded"
    r"|ProxyError|ConnectTimeout|Read timed out|Connection broken|IncompleteRead"
    r"|from versions: none"  # all that pip says where retries are switched off
)
_NO_SPACE = re.compile(r"No space left on device|Errno 28|not enough space", re.IGNORECASE)
_NO_FILE = re.compile(r"No matching distribution found for (\S+)")


class StatusLine:
    """Prints progress to ``stream``, redrawn in place if it is a terminal."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._is_terminal = stream.isatty()
        self._drawn = 0
        self._printed_at = clock()

    def show(self, text: str) -> None:
        """Show the present state; elsewhere than on a terminal not more often than needed."""
        if self._is_terminal:
            text = text[: shutil.get_terminal_size().columns - 1]
            self._stream.write("\r" + text.ljust(self._drawn))
            self._drawn = len(text)
        elif self._clock() - self._printed_at < LINE_INTERVAL_SECONDS:
            return
        else:
            self._stream.write(text + "\n")
            self._printed_at = self._clock()
        self._stream.flush()

    def clear(self) -> None:
        """Remove what was drawn, so that a line can be printed in its place."""
        if self._drawn:
            self._stream.write("\r" + " " * self._drawn + "\r")
            self._stream.flush()
            self._drawn = 0


def _parse_size(number: str, unit: str) -> int:
    return round(float(number) * {"bytes": 1, "kB": 1000, "MB": 1000**2, "GB": 1000**3}[unit])


class ProgressText:
    """What is said while a program runs of which nothing more is known."""

    def __init__(self, text: str) -> None:
        self._text = text

    def read_line(self, line: str) -> None:
        """Take note of one line that the program wrote."""

    def describe(self) -> str:
        """Return one line on the present state."""
        return self._text


class InstallProgress(ProgressText):
    """How far pip is, from its log and from the files that it makes; no number ever falls."""

    def __init__(self, lock: Path, downloads: Path, packages: Sequence[Path]) -> None:
        """``downloads`` is pip's temporary folder, ``packages`` where it installs."""
        super().__init__("")
        self.total = sum(
            1
            for line in lock.read_text(encoding="utf-8").splitlines()
            if line and not line[0].isspace() and line[0] not in "#-"
        )
        self._downloads = downloads
        self._packages = packages
        self._local_bytes = 0
        self._announced_bytes = self._fetched_bytes = 0  # by the log; files may come unseen
        self._installed_before = 0
        self._to_install = 0
        self._is_retrying = False
        self.found = 0
        self.installed = 0
        self.bytes = 0

    def read_line(self, line: str) -> None:
        """Take note of one line of pip's log."""
        self._is_retrying = bool(_RETRYING.match(line))
        self._fetched_bytes += self._announced_bytes  # pip goes on when it has the file
        announced = _DOWNLOADING.match(line)
        self._announced_bytes = _parse_size(*announced.groups()) if announced else 0
        if line.startswith("Ignoring "):  # its markers ask for another system
            self.total -= 1
        elif _FOUND_PACKAGE.match(line):
            self.found = min(self.found + 1, self.total)
            if local := _LOCAL_FILE.match(line):
                with suppress(OSError):
                    self._local_bytes += Path(local[1]).stat().st_size
        elif installing := _INSTALLING.match(line):
            self._to_install = len(installing[1].split(","))
            self._installed_before = self._count_installed()

    def describe(self) -> str:
        """Return one line on the present state."""
        self._measure()
        fetched = f"{self.bytes / _MEGABYTE:.0f} MB"
        if self._to_install:
            return f"{fetched} fetched, {self.installed} of {self._to_install} packages installed"
        waiting = "; the package index does not answer yet" if self._is_retrying else ""
        if not self.found:  # nor is it known yet which of them this system needs
            return f"looking for packages{waiting}"
        return f"{self.found} of {self.total} packages, {fetched} fetched{waiting}"

    def _measure(self) -> None:
        here = 0
        for folder in self._downloads.glob("*"):
            with suppress(OSError):  # pip deletes folders at any moment
                here += sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
        self.bytes = max(self.bytes, self._local_bytes + max(here, self._fetched_bytes))
        if self._to_install:
            done = min(self._count_installed() - self._installed_before, self._to_install)
            self.installed = max(self.installed, done)

    def _count_installed(self) -> int:
        return len({path for folder in self._packages for path in folder.glob("*.dist-info")})


def run_with_progress(
    command: Sequence[str],
    log: Path,
    progress: ProgressText,
    *,
    temporary: Path | None = None,
    inherited: tuple[int, ...] = (),
) -> int:
    """Run a program, showing its progress; return its exit code.

    ``temporary`` is emptied and is its folder for temporary files; it keeps the file descriptors
    ``inherited`` open. It is ended when this process is interrupted.
    """
    environ = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"}
    if temporary:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        environ.update(dict.fromkeys(_TEMPORARY_VARIABLES, str(temporary)))
    status, started = StatusLine(sys.stderr), time.monotonic()
    with log.open("ab") as output, log.open("rb") as written:
        written.seek(0, os.SEEK_END)
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environ,
            pass_fds=() if os.name == "nt" else inherited,
        )
        rest = b""
        try:
            while True:
                code = process.poll()  # before reading, so that nothing it wrote is missed
                *lines, rest = (rest + written.read()).split(b"\n")
                for line in lines:
                    progress.read_line(line.decode(errors="replace").rstrip())
                status.show(f"  {progress.describe()}, {time.monotonic() - started:.0f} s")
                if code is not None:
                    return code
                with suppress(subprocess.TimeoutExpired):
                    process.wait(POLL_INTERVAL_SECONDS)
        finally:
            status.clear()
            if process.poll() is None:
                process.terminate()
                process.wait()
            if temporary:
                shutil.rmtree(temporary, ignore_errors=True)


def explain_failure(output: str, lock: Path, log: Path) -> str:
    """Return what went wrong in pip, and what to do, in words for a person."""
    if _NO_SPACE.search(output):
        return f"The disk is full. Free about 1 GB where {log.parent} lies, and say the same again."
    if _NO_CONNECTION.search(output):
        return (
            "The package index cannot be reached. Connect to the network and say the same again:"
            " it continues with what is there. Behind a proxy set HTTPS_PROXY; for an index of"
            " your own set PIP_INDEX_URL."
        )
    if missing := _NO_FILE.search(output):
        version = ".".join(map(str, sys.version_info[:2]))
        return (
            f"There is no {missing[1]} for Python {version} on this machine. Use another Python"
            f" (3.11 to 3.13, 64 bits), or update pip's index. The details are in {log}."
        )
    errors = [line for line in output.splitlines() if line.startswith("ERROR:")]
    said = "\n".join(errors or output.splitlines()[-5:])
    return f"{said}\npip could not install {lock.name}; {log} has everything it said."
