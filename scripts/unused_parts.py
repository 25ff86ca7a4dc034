"""Parts of installed packages that the kernel never loads: a fifth of what is installed.

Standard library only. A package that is installed again brings its parts back, and the next set-up
removes them again.
"""

import shutil
import sys
from fnmatch import fnmatch
from pathlib import Path, PurePath

# Names of files and folders, below a package; tests, headers and sources, and tools that make
# models.
_PARTS = {
    "numpy": ("tests", "include"),
    "onnxruntime": ("transformers", "tools", "datasets"),
    "pyarrow": ("tests", "include", "includes", "src", "*.pyx", "*.pxi", "*.pxd"),
}
# Arrow Flight, Arrow's client of S3, second and third copies of a library, and the C library of
# onnxruntime, which its Python module has inside. Seen to be unused on Linux alone.
_LINUX_PARTS = {
    "onnxruntime": ("libonnxruntime.so*",),
    "pyarrow": (
        "*flight*", "libarrow_s3.*", "_s3fs*", "libarrow_python.so", "libarrow_python.so.*.*",
    ),
}  # fmt: skip


def is_unused(file: PurePath) -> bool:
    """Whether a file, relative to the folder of all packages, is never loaded."""
    package, *names = file.parts
    patterns = _list_patterns(package)
    return any(fnmatch(name, pattern) for name in names for pattern in patterns)


def remove_unused(packages: Path) -> int:
    """Remove the parts from a folder of packages; return their bytes."""
    removed = 0
    for package in _PARTS:
        for pattern in _list_patterns(package):
            for part in [*(packages / package).rglob(pattern)]:
                removed += _remove(part)
    return removed


def _list_patterns(package: str) -> tuple[str, ...]:
    on_linux = _LINUX_PARTS.get(package, ()) if sys.platform == "linux" else ()
    return (*_PARTS.get(package, ()), *on_linux)


def _remove(part: Path) -> int:
    """Remove a file or a folder; return its bytes."""
    if part.is_dir():
        size = sum(file.stat().st_size for file in part.rglob("*") if file.is_file())
        shutil.rmtree(part, ignore_errors=True)
        return size
    size = part.stat().st_size if part.exists() else 0
    part.unlink(missing_ok=True)
    return size
