"""The kernel as a folder that needs no Python: an interpreter, the pinned packages, the kernel.

codekernel            starts it (Linux, macOS)
python/               an interpreter, with everything in its site-packages
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from importlib import metadata
from pathlib import Path

from environment import ROOT, RUNTIME_LOCK
from unused_parts import is_unused

# Parts of the standard library that a kernel has no use for.
LIBRARY_LEFT_OUT = (
    "__pycache__", "site-packages", "dist-packages", "config-*", "test", "idlelib", "tkinter",
    "turtledemo", "turtle.py", "ensurepip", "lib2to3", "pydoc_data",
)  # fmt: skip

LAUNCHER = """#!/bin/sh
# The kernel with the interpreter beside it; nothing of another Python is heard (-I).
here=${0%/*}
if [ -L "$0" ]; then here=$(dirname "$(readlink -f "$0")"); fi
"""
# An interpreter in two parts looks for the other one where it was built.
FIND_LIBRARY = 'export LD_LIBRARY_PATH="$here/python/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"\n'
START = 'exec "$here/python/bin/{python}" -I -m codekernel "$@"\n'


def build_kernel(folder: Path) -> None:
    """Fill a new folder with all a kernel needs."""
    inside = folder / "python"
    library = _copy_interpreter(inside)
    packages = library / "site-packages"
    for name in pinned_here(RUNTIME_LOCK):
        _copy_package(metadata.distribution(name), packages)
    copy_kernel(packages)
    if os.name != "nt":
        _write_launcher(folder)
    _compile(folder, library)


def pinned_here(lock: Path) -> list[str]:
    """The packages that the lock names for this system; each is installed as it is pinned."""
    from pip._vendor.packaging.requirements import Requirement  # noqa: PLC0415 - slow

    names = []
    for line in lock.read_text(encoding="utf-8").splitlines():
        if not line or line[0] in " #":
            continue
        wanted = Requirement(line.removesuffix("\\"))
        if wanted.marker is not None and not wanted.marker.evaluate():
            continue
        try:
            version = metadata.version(wanted.name)
        except metadata.PackageNotFoundError:
            version = "nothing"
        if version not in wanted.specifier:
            sys.exit(f"{lock.name} pins {wanted.name}{wanted.specifier}; installed is {version}.")
        names.append(wanted.name)
    return names


def copy_kernel(packages: Path) -> None:
    """Put the kernel there as its wheel would: with what pyproject.toml adds to it."""
    shutil.copytree(
        ROOT / "kernel" / "codekernel",
        packages / "codekernel",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    added = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    for source, place in added.items():
        shutil.copytree(ROOT / source, packages / place)


def _copy_interpreter(inside: Path) -> Path:
    """Copy the interpreter this environment was made from; the folder of its library."""
    base = Path(sys.base_prefix)
    ignore = shutil.ignore_patterns(*LIBRARY_LEFT_OUT)
    if os.name == "nt":
        inside.mkdir(parents=True)
        for pattern in ("python*.exe", "*.dll"):
            for file in base.glob(pattern):
                shutil.copy2(file, inside)
        shutil.copytree(base / "DLLs", inside / "DLLs")
        shutil.copytree(base / "Lib", inside / "Lib", ignore=ignore)
        return inside / "Lib"
    library = inside / "lib" / _python()
    shutil.copytree(sysconfig.get_path("stdlib"), library, ignore=ignore)
    (inside / "bin").mkdir()
    shutil.copy2((base / "bin" / _python()).resolve(), inside / "bin" / _python())
    if shared := _shared_library():
        shutil.copy2(shared, inside / "lib" / shared.name)
    return library


def _copy_package(package: metadata.Distribution, packages: Path) -> None:
    for file in package.files or ():
        if ".." in file.parts or "__pycache__" in file.parts:
            continue  # commands, and what was compiled for another folder
        if is_unused(file):
            continue
        target = packages / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(str(package.locate_file(file)), target)


def _write_launcher(folder: Path) -> None:
    launcher = folder / "codekernel"
    find = FIND_LIBRARY if _shared_library() and sys.platform == "linux" else ""
    launcher.write_text(LAUNCHER + find + START.format(python=_python()), encoding="utf-8")
    launcher.chmod(0o755)


def _compile(folder: Path, library: Path) -> None:
    """Compile all of it, so that it starts as fast where its folder cannot be written.

    Unchecked: a copy of the folder has other times, and nobody edits what lies in it.
    """
    if os.name == "nt":
        command = [str(folder / "python" / "python.exe"), "-I", "-m", "compileall"]
    else:
        command = [str(folder / "python" / "bin" / _python()), "-I", "-m", "compileall"]
    words = ["-q", "-j", "0", "--invalidation-mode", "unchecked-hash", str(library)]
    environ = {**os.environ, "LD_LIBRARY_PATH": str(folder / "python" / "lib")}
    subprocess.run([*command, *words], env=environ, check=False, stdout=subprocess.DEVNULL)
    report = [*command[:2], "-c", "import json, codekernel; print(json.dumps(codekernel.__file__))"]
    said = subprocess.run(report, env=environ, check=True, capture_output=True).stdout
    if not Path(json.loads(said)).is_relative_to(folder.resolve()):
        sys.exit("The packaged interpreter finds another kernel than the packaged one.")


def _python() -> str:
    return f"python{sys.version_info.major}.{sys.version_info.minor}"


def _shared_library() -> Path | None:
    name = sysconfig.get_config_var("INSTSONAME") or ""
    file = Path(sysconfig.get_config_var("LIBDIR") or "", name)
    shared = sysconfig.get_config_var("Py_ENABLE_SHARED") and name and file.is_file()
    return file if shared else None
