"""A small mounted disk that can be filled to the last byte or inode, and freed again."""

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn


def system(*words: object) -> bool:
    """Whether a command of the system succeeds."""
    ended = subprocess.run([str(word) for word in words], capture_output=True, check=False)
    return ended.returncode == 0


@dataclass
class SmallDisk:
    """``place`` is its root; what fills it lies in files called ballast."""

    place: Path
    _inodes: list[Path] = field(default_factory=list)

    @property
    def free_bytes(self) -> int:
        found = os.statvfs(self.place)
        return found.f_bavail * found.f_frsize

    @property
    def ballast_bytes(self) -> int:
        return (self.place / "ballast").stat().st_size

    def fill(self, room: int = 0) -> None:
        """Leave so many bytes, rounded down to pages."""
        try:
            with open(self.place / "ballast", "ab", buffering=0) as ballast:  # noqa: PTH123
                while self.free_bytes > room:
                    ballast.write(b"\0" * min(self.free_bytes - room, 1 << 20))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise

    def fill_names(self) -> None:
        """Let no further file be made, however small."""
        try:
            while True:
                path = self.place / f"ballast-{len(self._inodes)}"
                path.touch()
                self._inodes.append(path)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise

    def free(self) -> None:
        """Take away everything that filled it."""
        (self.place / "ballast").unlink(missing_ok=True)
        while self._inodes:
            self._inodes.pop().unlink(missing_ok=True)


@contextmanager
def small_disk(place: Path, size_bytes: int, files: int = 0) -> Iterator[SmallDisk]:
    """A disk mounted at ``place``, where the tester may mount one; with room for so many files."""
    place.mkdir(exist_ok=True)
    options = f"size={size_bytes}" + (f",nr_inodes={files}" if files else "")
    if sys.platform != "linux" or not system("mount", "-t", "tmpfs", "-o", options, "tmpfs", place):
        _skip("only root may mount a disk")
    try:
        yield SmallDisk(place)
    finally:
        assert system("umount", "-l", place)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Within the block nothing in a folder may be written: by its modes, or for root by a mount."""
    if os.geteuid() == 0:
        if not (system("mount", "--bind", folder, folder)):
            _skip("root may write everywhere, and mount nothing here")
        assert system("mount", "-o", "remount,ro,bind", folder)
        try:
            yield
        finally:
            assert system("umount", "-l", folder)
        return
    places = [folder, *folder.rglob("*")]
    for place in places:
        place.chmod(0o500)
    try:
        yield
    finally:
        for place in places:
            place.chmod(0o700)


def _skip(reason: str) -> NoReturn:
    import pytest  # noqa: PLC0415 - a benchmark runs without it

    pytest.skip(reason)
