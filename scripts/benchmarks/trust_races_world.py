"""The world of the campaign ``races``: cells that are swapped for links, and a canary tree outside.

A cell is a folder of the root in which one thread works. In it a folder (or a file) and a link that
leads to a twin outside the root change places again and again, from another process. The twin has
files of the same names with another content, so that whatever follows the link is noticed.
"""

import ctypes
import errno
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

CANARY = "CANARY-7f3a"
_INSIDE = "inside"
_NOTEBOOK = (
    '{"cells": [{"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [],'
    ' "source": "%s"}], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}\n'
)
# Which name of a cell is swapped, and where the files lie; "" is the cell itself.
VARIANTS = {"folder": "sub", "inner": "one", "file": "sub/a.txt", "child": ""}
FILES_IN = {"folder": "sub", "inner": "one/two/sub", "file": "sub", "child": "sub"}
_SWAP_TRIES = 1_000
_LOOKS = 10
# Between two swaps, in turns of a loop of a quarter of a microsecond each.
_PAUSES = (0, 0, 50, 400)


@dataclass
class Cell:
    """One cell: ``root / name`` inside, ``outside / name`` its twin."""

    root: Path
    outside: Path
    name: str
    variant: str
    _before: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def files(self) -> str:
        """The folder of the files, relative to the root."""
        return f"{self.name}/{FILES_IN[self.variant]}"

    @property
    def swapped(self) -> tuple[Path, Path]:
        """The two names that change places: what lies inside, and the link."""
        real = self.root / self.name / VARIANTS[self.variant]
        return real, real.with_name(f"{real.name}-way")

    @property
    def twin(self) -> Path:
        """Where the link leads."""
        return self.outside / self.name / VARIANTS[self.variant]

    def build(self) -> None:
        """Make the cell as it was at first, whatever has become of it; the twin as well."""
        for gone in (*self.swapped, self.root / self.name):
            _remove(gone)
        _remove(self.outside / self.name)
        _fill(self.outside / self.files, CANARY)
        (self.outside / self.files / f"{CANARY}.txt").write_text(CANARY)
        self._before = self._state()
        _fill(self.root / self.files, _INSIDE)
        _, link = self.swapped
        link.symlink_to(self.twin)

    def is_whole(self) -> bool:
        """Whether everything is there with which calls can be made; asked again while it swaps."""
        return any(self._has_all(*names) for _ in range(_LOOKS) for names in self._both_ways())

    def _both_ways(self) -> tuple[tuple[Path, Path], ...]:
        real, link = self.swapped
        return (real, link), (link, real)

    def _has_all(self, real: Path, link: Path) -> bool:
        if real.is_symlink() or not link.is_symlink():
            return False
        if self.variant == "file":
            return all((real.parent / name).exists() for name in ("b.txt", "n.ipynb", "deep/er"))
        below = Path(self.files).relative_to(Path(self.name, VARIANTS[self.variant]))
        names = ("a.txt", "b.txt", "n.ipynb", "deep/er/c.txt")
        return all((real / below / name).exists() for name in names)

    def harm(self) -> str:
        """What has become of the twin since it was built; empty if nothing has."""
        now = self._state()
        if now == self._before:
            return ""
        said = [f"created {name}" for name in now.keys() - self._before.keys()]
        said += [f"deleted {name}" for name in self._before.keys() - now.keys()]
        said += [
            f"changed {name}"
            for name in now.keys() & self._before.keys()
            if now[name] != self._before[name]
        ]
        return ", ".join(sorted(said))

    def _state(self) -> dict[str, tuple[int, ...]]:
        """The time of a folder tells of a file that came and went."""
        state: dict[str, tuple[int, ...]] = {}
        todo = [str(self.outside / self.name)]
        while todo:
            folder = todo.pop()
            state[folder] = _get_identity(os.lstat(folder))
            with os.scandir(folder) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        todo.append(entry.path)
                    else:
                        state[entry.path] = _get_identity(status)
        return state


class Swapper:
    """A child process that swaps the names of all cells until it is ended."""

    def __init__(self, cells: list[Cell], seed: int) -> None:
        pairs = [str(name) for cell in cells for name in cell.swapped]
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(seed), *pairs], stdout=subprocess.PIPE
        )

    def end(self) -> int:
        """End it, and say how many swaps it made."""
        self._process.terminate()
        said, _ = self._process.communicate()
        return int(said or 0)


def _fill(folder: Path, mark: str) -> None:
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "a.txt").write_text(f"needle one {mark}\nneedle two {mark}\n")
    (folder / "b.txt").write_text(f"needle three {mark}\n")
    (folder / "n.ipynb").write_text(_NOTEBOOK % f"needle {mark}")
    (folder / "deep" / "er" / "c.txt").write_text(f"needle four {mark}\n")


def _remove(path: Path) -> None:
    """Remove something that may be swapped meanwhile; never what a link leads to."""
    for _ in range(_SWAP_TRIES):
        try:
            path.unlink()
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno not in {errno.EISDIR, errno.EPERM}:
                raise
            shutil.rmtree(path, ignore_errors=True)


def _get_identity(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def _swap_for_ever(seed: int, names: list[str]) -> None:
    """Swap pairs in a random order, at once or after a moment, until terminated or orphaned."""
    chance = random.Random(seed)  # noqa: S311 - a seed repeats it
    encoded = [os.fsencode(name) for name in names]
    pairs = list(zip(encoded[::2], encoded[1::2], strict=True))
    exchange = _exchange()
    parent, swaps = os.getppid(), 0
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    while os.getppid() == parent and not over.is_set():
        for _ in range(_SWAP_TRIES):
            swaps += exchange(*chance.choice(pairs))
            for _ in range(chance.choice(_PAUSES)):
                os.getppid()
    sys.stdout.write(str(swaps))


def _exchange() -> Callable[[bytes, bytes], bool]:
    library = ctypes.CDLL(None, use_errno=True)
    if hasattr(library, "renameat2"):
        swap = library.renameat2
        return lambda one, two: swap(_AT_FDCWD, one, _AT_FDCWD, two, _RENAME_EXCHANGE) == 0
    return _exchange_in_steps


def _exchange_in_steps(one: bytes, two: bytes) -> bool:
    aside = two + b"-aside"
    try:
        os.rename(one, aside)  # noqa: PTH104 - bytes
        os.rename(two, one)  # noqa: PTH104 - bytes
        os.rename(aside, two)  # noqa: PTH104 - bytes
    except OSError:
        return False
    return True


if __name__ == "__main__":
    _swap_for_ever(int(sys.argv[1]), sys.argv[2:])
