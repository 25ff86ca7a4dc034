"""Whether everything of an index is of the kind it should be: a file a file, a folder a folder.

Whoever opens a pipe in the place of a file waits for ever, so this is looked at before anything is
opened.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

LOCK_FILE = "writer.lock"
VECTORS_FOLDER = "vectors"
_DATABASES = ("catalogue.db", "calls.db")
_COMPANIONS = ("", "-wal", "-shm", "-journal", ".sums")


def misplaced_files(folder: Path) -> Iterator[Path]:
    """What must be a file that can be read and written, and is not; companions come first."""
    for name in (LOCK_FILE, *(f"{db}{end}" for db in _DATABASES for end in reversed(_COMPANIONS))):
        path = folder / name
        if os.path.lexists(path) and not is_usable_file(path):
            yield path


def is_usable_file(path: Path) -> bool:
    """Whether a file can be opened here, without waiting for anybody."""
    try:
        found = path.stat()
    except OSError:  # a link that leads nowhere, or to itself
        return False
    # What may not be read is damage if it can be moved; otherwise opening it says what to do.
    may_move = os.access(path.parent, os.W_OK)
    return stat.S_ISREG(found.st_mode) and (os.access(path, os.R_OK | os.W_OK) or not may_move)


def is_usable_tree(folder: Path, *, flat: bool = False) -> bool:
    """Whether there is a folder with nothing but files and folders in it, or nothing at all.

    ``flat``: of which none may be a folder.
    """
    if not os.path.lexists(folder):
        return True
    if not folder.is_dir():
        return False
    try:
        return all(_is_usable_entry(entry, flat=flat) for entry in _below(folder))
    except OSError:
        return not os.access(folder.parent, os.W_OK)


def _is_usable_entry(entry: "os.DirEntry[str]", *, flat: bool) -> bool:
    if entry.is_dir(follow_symlinks=False):
        return not flat
    return entry.is_file(follow_symlinks=False) and os.access(entry.path, os.R_OK)


def _below(folder: str | Path) -> "Iterator[os.DirEntry[str]]":
    with os.scandir(folder) as entries:
        for entry in entries:
            yield entry
            if entry.is_dir(follow_symlinks=False):
                yield from _below(entry.path)
