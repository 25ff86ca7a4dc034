"""The throw-away environments of the rivals, below ``.bench-cache``: made when first needed.

Standard library only. Packages come from wherever pip is set up to find them, at pinned versions.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".bench-cache"


class RivalMissing(Exception):
    """A rival that cannot run here; the message is one line that says why."""


def environment(name: str, pins: Sequence[str]) -> Path:
    """The interpreter of the environment with ``pins``.

    Raises RivalMissing if pip cannot install them; a later call tries again.
    """
    key = hashlib.sha256("\n".join([sys.version, *pins]).encode()).hexdigest()[:12]
    folder = CACHE / "venvs" / f"{name}-{key}"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = folder / "complete"
    if stamp.exists():
        return python
    print(f"Installing {' '.join(pins)} ...", file=sys.stderr, flush=True)
    try:
        venv.create(folder, with_pip=True, clear=True, symlinks=os.name != "nt")
    except subprocess.CalledProcessError:
        raise RivalMissing("this Python cannot make a virtual environment") from None
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*command, *pins], check=False, capture_output=True, text=True)
    if done.returncode:
        shutil.rmtree(folder)
        errors = [line for line in done.stderr.splitlines() if line.lower().startswith("error")]
        raise RivalMissing(f"pip cannot install {' '.join(pins)}: {' '.join(errors[-1:])}")
    stamp.touch()
    return python
