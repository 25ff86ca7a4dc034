"""The order in which the app is put together; runs in the project's environment."""

import argparse
import shutil
import sys
from pathlib import Path

from dist_app import app_files, electron_folder, put_together, resources_of
from dist_kernel import build_kernel
from environment import ROOT


def main() -> int:
    """Build the kernel, then the app around it; print where it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "dist")
    parser.add_argument("--electron", type=Path, help="a folder with an Electron for this system")
    parser.add_argument("--kernel-only", action="store_true", help="make the kernel's folder alone")
    chosen = parser.parse_args()
    if chosen.kernel_only:
        kernel = chosen.out / "kernel"
        _clear(kernel)
        build_kernel(kernel)
        print(kernel)
        return 0
    electron = electron_folder(chosen.electron)
    out = chosen.out / f"codekernel-{sys.platform}"
    _clear(out)
    program = put_together(electron, out, sys.platform)
    app_files(resources_of(out, sys.platform) / "app")
    build_kernel(resources_of(out, sys.platform) / "kernel")
    print(program)
    return 0


def _clear(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
