"""Make the moving picture of README.md: ``python scripts/record_tour.py DJANGO``.

DJANGO is a checkout of Django, which is only read: the tour works on a copy. Kernel, pages and
index are real; the chat model follows a script (electron-bridge/app/tour). Needs Chromium, the Node
packages of electron-bridge, and Pillow, which only this script uses: it runs itself again with
Pillow in an environment of its own.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "pictures" / "tour.webp"
MAX_BYTES = 3_000_000
PILLOW = "pillow==13.0.0"
TIMEOUT_SECONDS = 900


def main() -> int:
    """Record the frames, join them, and say how large the picture is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("django", type=Path)
    parser.add_argument("--frames", type=Path, help="recorded before; nothing is recorded then")
    arguments = parser.parse_args()
    if not find_spec("PIL"):
        return run_with_pillow()
    with tempfile.TemporaryDirectory(prefix="tour-") as made:
        folder = arguments.frames or Path(made)
        if not arguments.frames:
            record(arguments.django.absolute(), folder)
        join(json.loads((folder / "frames.json").read_text(encoding="utf-8")))
    size = PICTURE.stat().st_size
    print(f"{PICTURE.relative_to(ROOT)}: {size / 1e6:.2f} MB")
    return 0 if size <= MAX_BYTES else 1


def run_with_pillow() -> int:
    """Run this script again where Pillow is."""
    with tempfile.TemporaryDirectory(prefix="pillow-") as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", PILLOW], check=True)
        environ = {**os.environ, "CODEKERNEL_PYTHON": sys.executable}
        return subprocess.run([python, *sys.argv], env=environ, check=False).returncode


def record(django: Path, folder: Path) -> None:
    """Write the frames and ``frames.json``."""
    node = shutil.which("node")
    if node is None:
        sys.exit("node is not installed.")
    command = [node, "app/tour/record.js", str(django), str(folder)]
    bridge = ROOT / "electron-bridge"
    subprocess.run(command, cwd=bridge, check=True, timeout=TIMEOUT_SECONDS)


def join(frames: list[dict[str, Any]]) -> None:
    """Write the picture, which repeats for ever."""
    image = import_module("PIL.Image")  # no dependency of the project: see run_with_pillow
    first, *others = (image.open(frame["file"]).convert("RGB") for frame in frames)
    first.save(
        PICTURE,
        save_all=True,
        append_images=others,
        duration=[frame["milliseconds"] for frame in frames],
        loop=0,
        lossless=True,  # a few colours and sharp letters: smaller so than with losses
        method=6,
    )


if __name__ == "__main__":
    sys.exit(main())
