"""Measure the pages in Chromium or Electron: first paint, page change, keystroke to results."""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "electron-bridge" / "app" / "e2e" / "measure" / "pages.js"


def main() -> int:
    """Run the measuring story on a folder; its pages are served by this checkout."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default=str(ROOT / "kernel"))
    parser.add_argument("--searches", type=int, default=500)
    parser.add_argument("--desktop", action="store_true", help="in Electron")
    chosen = parser.parse_args()
    node = shutil.which("node")
    if node is None:
        print("Node was not found: the pages are driven by it.")
        return 2
    environ = {**os.environ, "CODEKERNEL_PYTHON": sys.executable}
    environ.pop("CODEKERNEL_STANDALONE", None)  # the browser's kernel is a child of its own
    where = "desktop" if chosen.desktop else "browser"
    command = [node, str(SCRIPT), chosen.folder, str(chosen.searches), where]
    return subprocess.run(command, env=environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
