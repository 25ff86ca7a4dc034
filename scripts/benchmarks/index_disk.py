"""What an index takes on disk, counted from outside while or after a kernel keeps it."""

import json
import time
from dataclasses import dataclass
from pathlib import Path

DIMENSIONS = 256  # of the static model
# A vector as LanceDB has it: half-precision numbers and a key. Whole numbers would flatter us.
VECTOR_BYTES = DIMENSIONS * 2 + 8
# Tidying begins two seconds after the last work; what has not changed for longer stays.
UNCHANGED_SECONDS = 6.0
TIDYING_TIMEOUT_SECONDS = 180.0
LOOK_SECONDS = 0.25


@dataclass(frozen=True)
class IndexDisk:
    """One moment of an index's folder."""

    versions: int
    segments: int
    parts: dict[str, int]

    @property
    def total(self) -> int:
        """All bytes."""
        return sum(self.parts.values())

    def sentence(self) -> str:
        """For a person."""
        parts = ", ".join(f"{name} {size / 1e6:.1f}" for name, size in sorted(self.parts.items()))
        return (
            f"{self.total / 1e6:.1f} MB ({parts}), {self.versions} LanceDB versions, "
            f"{self.segments} segments of words"
        )


def look(folder: Path) -> IndexDisk:
    """Count now; files may come and go meanwhile."""
    parts: dict[str, int] = {}
    versions = 0
    for file in list(folder.rglob("*")):
        try:
            size = file.stat().st_size if file.is_file() else 0
        except FileNotFoundError:
            continue
        part = file.relative_to(folder).parts[0]
        parts[part] = parts.get(part, 0) + size
        versions += file.suffix == ".manifest"
    return IndexDisk(versions, _segments(folder), parts)


def wait_until_settled(folder: Path) -> IndexDisk:
    """Count when nothing has changed for a while."""
    began = time.monotonic()
    last, since = look(folder), began
    while time.monotonic() - since < UNCHANGED_SECONDS:
        time.sleep(LOOK_SECONDS)
        now = look(folder)
        if now != last:
            last, since = now, time.monotonic()
        if time.monotonic() - began > TIDYING_TIMEOUT_SECONDS:
            print(f"The index still changes after {TIDYING_TIMEOUT_SECONDS:.0f} s.", flush=True)
            break
    return last


def tree_bytes(root: Path) -> int:
    """The size of all files below a folder."""
    return sum(file.stat().st_size for file in root.rglob("*") if file.is_file())


def _segments(folder: Path) -> int:
    try:
        meta = json.loads((folder / "words" / "meta.json").read_bytes())
    except (FileNotFoundError, ValueError):
        return 0
    return len(meta["segments"])
