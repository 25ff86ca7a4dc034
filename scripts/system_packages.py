"""Install what tests need besides Python: programs of the system, and packages of Node.

Standard library only. What cannot be installed is reported; tests that need it skip, or fail on a
disposable machine (see ``NEEDED``).
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
# Checked besides the stamp: the environment may have come from another machine.
PROGRAMS = ("zsh", "fish", "strace", "Xvfb", "chromium")
APT_TIMEOUT_SECONDS = 900  # a mirror that does not answer must not delay the tests for ever
NPM_TIMEOUT_SECONDS = 900
# Folders with a package-lock.json: the app, the official inspector of MCP servers, and peers on the
# official TypeScript SDK of ACP.
NODE_FOLDERS = (
    environment.ROOT / "electron-bridge",
    environment.ROOT / "tests" / "adapters" / "mcp" / "inspector",
    environment.ROOT / "tests" / "adapters" / "acp" / "typescript",
)


def install() -> None:
    """Install what the tests of the app need, once; system packages on disposable machines only."""
    with ThreadPoolExecutor() as pool:  # apt and npm wait for different mirrors
        installing = pool.submit(_install_node_packages)
        if _is_disposable():
            _install_system_packages()
            if shutil.which("node"):
                os.environ.setdefault(NEEDED, "1")
        installing.result()


def _is_disposable() -> bool:
    """Return whether this is root with apt: a container or a CI machine, where we may install."""
    has_apt = shutil.which("apt-get") is not None
    return has_apt and hasattr(os, "geteuid") and os.geteuid() == 0


def _install_system_packages() -> None:
    stamp = environment.FOLDER / "system.stamp"
    wanted = " ".join(SYSTEM_PACKAGES)
    if _has_text(stamp, wanted) and all(map(shutil.which, PROGRAMS)):
        return
    _apt("update")
    # All at once is faster; but then one missing package costs all the others.
    if _install(*SYSTEM_PACKAGES) or not [name for name in SYSTEM_PACKAGES if not _install(name)]:
        stamp.write_text(wanted, encoding="utf-8")
    else:
        print(
            "apt could not install everything that tests use; some tests will skip.",
            file=sys.stderr,
        )


def _install(*packages: str) -> bool:
    return _apt("install", "--yes", "--no-install-recommends", *packages)


def _apt(*words: str) -> bool:
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with suppress(subprocess.TimeoutExpired):
        done = subprocess.run(
            ["apt-get", "-qq", *words],  # noqa: S607 - found on the PATH
            env=environ,
            check=False,
            stdout=subprocess.DEVNULL,
            timeout=APT_TIMEOUT_SECONDS,
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
    if _has_text(stamp, wanted):
        return
    print(f"Setting up node_modules of {folder.name} ...", file=sys.stderr, flush=True)
    words = ["ci", "--no-fund", "--no-audit", "--loglevel=error"]
    with suppress(subprocess.TimeoutExpired):
        done = subprocess.run([npm, *words], cwd=folder, check=False, timeout=NPM_TIMEOUT_SECONDS)
        if done.returncode == 0:
            stamp.write_text(wanted, encoding="utf-8")
            return
    print(f"npm could not install the packages of {folder.name}.", file=sys.stderr)


def _has_text(stamp: Path, wanted: str) -> bool:
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted
