"""A database that cannot be read is renamed, with all that belongs to it, and never overwritten."""

from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

from kernel.storage.failures import explain

# The database itself goes last: without it SQLite would take a lone -wal file for rubbish.
SUFFIXES = ("-wal", "-shm", "-journal", "")


def set_aside(database: Path, now: datetime) -> Path:
    """Rename the database and its companions together; returns the database's new path."""
    aside = _unused_name(database, now)
    moved: list[tuple[Path, Path]] = []
    try:
        for suffix in SUFFIXES:
            here, there = _with_suffix(database, suffix), _with_suffix(aside, suffix)
            if here.exists():
                here.rename(there)
                moved.append((here, there))
    except OSError as error:
        for here, there in reversed(moved):
            with suppress(OSError):
                there.rename(here)
        raise explain(error, database) from error
    return aside


def is_lone_wal(database: Path) -> bool:
    """Whether there are -wal rows without a database, which SQLite would delete when opening."""
    wal = _with_suffix(database, "-wal")
    return _size(database) == 0 and _size(wal) > 0


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _unused_name(database: Path, now: datetime) -> Path:
    stamp = now.astimezone(UTC).strftime("%Y%m%d-%H%M%S")
    first = f"{database.name}.unreadable-{stamp}"
    names = chain([first], (f"{first}-{number}" for number in count(2)))
    return next(path for name in names if not _taken(path := database.with_name(name)))


def _taken(name: Path) -> bool:
    return any(_with_suffix(name, suffix).exists() for suffix in SUFFIXES)


def _with_suffix(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
