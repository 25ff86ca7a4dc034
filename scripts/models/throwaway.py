"""A virtual environment in a temporary folder, for build tools that the project must not depend on.

Standard library only. Packages come from wherever pip is set up to find them.
"""

import os
import subprocess
import sys
import venv
from collections.abc import Iterable
from pathlib import Path


def interpreter(folder: Path, packages: Iterable[str]) -> Path:
    """Make an environment with ``packages`` in ``folder``; return its interpreter."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    _pip(python, "install", *packages)
    return python


def wheel(python: Path, package: str, version: str, folder: Path) -> Path:
    """Download one package, without what it depends on, into ``folder``; return the file."""
    _pip(python, "download", "--no-deps", "--dest", str(folder), f"{package}=={version}")
    (found,) = folder.glob(f"{package.replace('-', '_')}-{version}-*.whl")
    return found


def _pip(python: Path, command: str, *arguments: str) -> None:
    quiet = ("--quiet", "--disable-pip-version-check")
    done = subprocess.run([str(python), "-m", "pip", command, *quiet, *arguments], check=False)
    if done.returncode:
        sys.exit(f"pip {command} failed; what it printed above says why.")
