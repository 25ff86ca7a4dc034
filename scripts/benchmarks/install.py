"""From the wheel to the first answer, in an environment that is empty: seconds and megabytes.

Builds the wheel, brings what it depends on into a folder of wheels, and installs from that folder
alone (``--no-index``), as somebody without a network does. ``--tools`` does the same with
``uvx``, and with ``pipx run``, which wants the newest pip from the index. The first answer is that
of ``codekernel search`` about a folder that has no index yet; a second one shows what it saves.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements.lock"
QUERY = "where is a session closed"
TIMEOUT_SECONDS = 1200
QUIET = ("--quiet", "--disable-pip-version-check", "--no-input")


@dataclass(frozen=True)
class Spent:
    """Seconds of a clock, and of processors: on a busy machine the second says more."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.1f} ({self.cpu:.1f})"


@dataclass(frozen=True)
class Timing:
    """What one way to install took; ``megabytes`` on the disk."""

    way: str
    install: Spent
    first: Spent
    second: Spent
    megabytes: float

    def print_row(self) -> None:
        """Print a row of the table."""
        times = f"{self.install} | {self.first} | {self.second}"
        print(f"| {self.way} | {times} | {self.megabytes:.0f} |", flush=True)


def main() -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--wheels", type=Path, help="a folder of wheels that was filled before")
    parser.add_argument("--folder", type=Path, default=ROOT / "kernel", help="what is searched")
    parser.add_argument("--tools", action="store_true", help="pipx run and uvx, too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="install-") as made:
        place = Path(made)
        wheels = (arguments.wheels or place / "wheels").absolute()
        fill_wheels(wheels)
        total = sum(file.stat().st_size for file in wheels.glob("*.whl")) / 1e6
        (own,) = wheels.glob("codekernel-*.whl")
        count = len(list(wheels.glob("*.whl")))
        print(
            f"{count} wheels, {total:.0f} MB, of them codekernel {own.stat().st_size / 1e6:.0f} MB"
        )
        print(f"searched: {count_files(arguments.folder)} files")
        print("Seconds, in brackets those of processors:")
        print("| way | install | first answer | second | on the disk, MB |")
        print("|---|---|---|---|---|", flush=True)
        try_pip(wheels, place, arguments.folder).print_row()
        for tool in ("pipx", "uv") if arguments.tools else ():
            try_tool(tool, wheels, own, place, arguments.folder).print_row()
    return 0


def fill_wheels(wheels: Path) -> None:
    """Build our wheel and bring the others, unless they are there."""
    pip = [sys.executable, "-m", "pip"]
    wheels.mkdir(parents=True, exist_ok=True)
    if not list(wheels.glob("codekernel-*.whl")):
        _run([*pip, "wheel", *QUIET, "--no-deps", "-w", str(wheels), str(ROOT)])
    if len(list(wheels.glob("*.whl"))) == 1:
        words = ["--require-hashes", "-r", str(LOCK), "-d", str(wheels)]
        _run([*pip, "download", *QUIET, *words])


def try_pip(wheels: Path, place: Path, folder: Path) -> Timing:
    """Install with pip into a new environment."""
    started = begin()
    environment = place / "venv"
    _run([sys.executable, "-m", "venv", str(environment)])
    programs = environment / ("Scripts" if os.name == "nt" else "bin")
    pip = [str(programs / "python"), "-m", "pip", "install", *QUIET]
    _run([*pip, "--no-index", "--find-links", str(wheels), "codekernel"])
    installed = end(started)
    first, second = search_twice([str(programs / "codekernel")], place / "pip-data", folder)
    return Timing("pip install", installed, first, second, measure_megabytes(environment))


def try_tool(tool: str, wheels: Path, own: Path, place: Path, folder: Path) -> Timing:
    """Let pipx or uv make its environment: the first run installs."""
    tools = place / f"{tool}-itself"
    _run([sys.executable, "-m", "venv", str(tools)])
    programs = tools / ("Scripts" if os.name == "nt" else "bin")
    _run([str(programs / "python"), "-m", "pip", "install", *QUIET, tool])
    home = place / tool
    environ = {
        "PIPX_HOME": str(home),
        "PIPX_BIN_DIR": str(home / "bin"),
        "PIP_FIND_LINKS": str(wheels),
        "UV_CACHE_DIR": str(home / "uv"),  # pipx uses uv, too, where it finds it
        "UV_NO_INDEX": "1",
        "UV_FIND_LINKS": str(wheels),
        "UV_PYTHON": sys.executable,
    }
    if tool == "pipx":
        command = [str(programs / "pipx"), "run", "--spec", str(own), "codekernel"]
    else:
        command = [str(programs / "uvx"), "--from", str(own), "codekernel"]
    started = begin()
    _run([*command, "--version"], environ)
    installed = end(started)
    first, second = search_twice(command, place / f"{tool}-data", folder, environ)
    way = "pipx run" if tool == "pipx" else "uvx"
    return Timing(way, installed, first, second, measure_megabytes(home))


def search_twice(
    command: list[str], user_data: Path, folder: Path, more: dict[str, str] | None = None
) -> tuple[Spent, Spent]:
    """Return the seconds of a search without an index, and of one with it."""
    seconds = []
    # The kernel as a part of the command, so that its processor time is counted.
    standalone = {"CODEKERNEL_STANDALONE": "1", "CODEKERNEL_USER_DATA": str(user_data)}
    environ = {**(more or {}), **standalone}
    for _ in range(2):
        started = begin()
        said = _run([*command, "search", "--repo", str(folder), QUERY], environ)
        seconds.append(end(started))
        if ".py:" not in said:
            sys.exit(f"{command[0]} found nothing: {said[:500]}")
    return seconds[0], seconds[1]


def begin() -> Spent:
    """Return where the clocks stand now; the second is that of ended children."""
    children = os.times()
    return Spent(time.monotonic(), children.children_user + children.children_system)


def end(started: Spent) -> Spent:
    """Return what has been spent since."""
    now = begin()
    return Spent(now.wall - started.wall, now.cpu - started.cpu)


def measure_megabytes(folder: Path) -> float:
    """Return what a folder takes; a file with several names counts once."""
    sizes = {}
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink():
            about = file.stat()
            sizes[about.st_dev, about.st_ino] = about.st_size
    return sum(sizes.values()) / 1e6


def count_files(folder: Path) -> int:
    """Return how many files of Python there are."""
    return sum(1 for _ in folder.rglob("*.py"))


def _run(command: list[str], more: dict[str, str] | None = None) -> str:
    """Run with nothing of this environment's Python; what was printed."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environ.update(more or {})
    done = subprocess.run(
        command,
        cwd=tempfile.gettempdir(),
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
