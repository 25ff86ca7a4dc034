"""What tests need besides Python: programs of the system, and packages of Node.

Standard library only. Whatever cannot be had is said; tests that need it skip, or fail where the
whole machine is ours to fill (see ``NEEDED``).
"""

import hashlib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import environment

# Tests that miss a part of the desktop fail instead of skipping when this is set.
NEEDED = "CODEKERNEL_DESKTOP_TESTS"
# The shells have their completion scripts tested; strace shows what leaves a process; the rest
# shows the app: a screen, a browser, the libraries of Electron, and a font for Chinese.
SYSTEM_PACKAGES = (
    "zsh", "fish", "strace", "xvfb", "xauth", "chromium", "fonts-noto-cjk",
    "libasound2", "libgbm1", "libgtk-3-0", "libnss3",
)  # fmt: skip
# By these one sees whether a stamp is true: the environment may have come from another machine.
PROGRAMS = ("zsh", "fish", "strace", "Xvfb", "chromium")
APT_SECONDS = 900  # a mirror that does not answer must not keep the tests waiting
NPM_SECONDS = 900
# Folders with a package-lock.json: the app, and the official inspector of MCP servers.
NODE_FOLDERS = (
    environment.ROOT / "electron-bridge",
    environment.ROOT / "tests" / "adapters" / "mcp" / "inspector",
)


def fill() -> None:
    """Have what the tests of the app need, once; on a machine that is thrown away, all of it."""
    with ThreadPoolExecutor() as beside:  # apt waits for its mirror, npm for its own
        installing = beside.submit(_install_node_packages)
        if _is_thrown_away():
            _install_system_packages()
            if shutil.which("node"):
                os.environ.setdefault(NEEDED, "1")
        installing.result()


def _is_thrown_away() -> bool:
    """Root with apt is a container or a CI machine; on anybody else's nothing is installed."""
    has_apt = shutil.which("apt-get") is not None
    return has_apt and hasattr(os, "geteuid") and os.geteuid() == 0


def _install_system_packages() -> None:
    stamp = environment.FOLDER / "system.stamp"
    wanted = " ".join(SYSTEM_PACKAGES)
    if _reads(stamp, wanted) and all(map(shutil.which, PROGRAMS)):
        return
    _apt("update")
    # All at once is faster; but then one that this system does not have costs all the others.
    if _install(*SYSTEM_PACKAGES) or not [one for one in SYSTEM_PACKAGES if not _install(one)]:
        stamp.write_text(wanted, encoding="utf-8")
    else:
        print("apt could not install all that tests use; some will say so.", file=sys.stderr)


def _install(*packages: str) -> bool:
    return _apt("install", "--yes", "--no-install-recommends", *packages)


def _apt(*words: str) -> bool:
    quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with suppress(subprocess.TimeoutExpired):
        done = subprocess.run(
            ["apt-get", "-qq", *words],  # noqa: S607 - found by whoever called us
            env=quietly,
            check=False,
            stdout=subprocess.DEVNULL,
            timeout=APT_SECONDS,
        )
        return done.returncode == 0
    return False


def _install_node_packages() -> None:
    npm, node = shutil.which("npm"), shutil.which("node")
    if not npm or not node:
        return
    version = subprocess.run([node, "--version"], capture_output=True, check=False).stdout
    for folder in NODE_FOLDERS:
        _install_node_packages_of(folder, npm, version)


def _install_node_packages_of(folder: Path, npm: str, version: bytes) -> None:
    stamp = folder / "node_modules" / "codekernel.stamp"
    lock = (folder / "package-lock.json").read_bytes()
    wanted = hashlib.sha256(version + lock).hexdigest()
    if _reads(stamp, wanted):
        return
    print(f"Setting up node_modules of {folder.name} ...", file=sys.stderr, flush=True)
    words = ["ci", "--no-fund", "--no-audit", "--loglevel=error"]
    with suppress(subprocess.TimeoutExpired):
        done = subprocess.run([npm, *words], cwd=folder, check=False, timeout=NPM_SECONDS)
        if done.returncode == 0:
            stamp.write_text(wanted, encoding="utf-8")
            return
    print(f"npm could not install what tests use of {folder.name}.", file=sys.stderr)


def _reads(stamp: Path, wanted: str) -> bool:
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted
