"""Files that cannot be used are renamed, with all that belongs to them, and never overwritten."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

from kernel.storage.failures import explain
from kernel.storage.quarantine import quarantine_user_file

# The database itself goes last: without it SQLite would take a lone -wal file for rubbish.
SUFFIXES = ("-wal", "-shm", "-journal", "")
# What became of a database that was moved away.
UNREADABLE = "unreadable"  # nothing more can be read from it
PENDING = "pending"  # its rows are still to be taken over
POCKETRAG = "pocketrag"  # an earlier PocketRAG's, taken over; its keys are in plain text


def set_aside(database: Path, now: datetime, label: str = UNREADABLE) -> Path:
    """Rename the database and its companions together; returns the database's new path."""
    return rename_database(database, _unused_name(database, _stamp(now), label))


def rename_database(database: Path, target: Path) -> Path:
    """Give the database and its companions another name, all of them or none."""
    moved: list[tuple[Path, Path]] = []
    try:
        for suffix in SUFFIXES:
            here, there = _with_suffix(database, suffix), _with_suffix(target, suffix)
            if os.path.lexists(here):
                here.rename(there)
                moved.append((here, there))
    except OSError as error:
        for here, there in reversed(moved):
            with suppress(OSError):
                there.rename(here)
        raise explain(error, database) from error
    return target


def settle_pending(pending: Path, label: str) -> Path:
    """Rename a database whose rows were taken over, for its owner's eyes alone."""
    name, _, stamp = pending.name.partition(f".{PENDING}-")
    database = pending.with_name(name)
    target = rename_database(pending, _unused_name(database, stamp, label))
    for suffix in SUFFIXES:
        with suppress(OSError):
            _with_suffix(target, suffix).chmod(0o600)
    return target


def databases_aside(database: Path, label: str) -> list[Path]:
    """The databases moved away under ``label``, the oldest first, without their companions."""
    return sorted(_named(database.parent, f"{database.name}.{label}-"))


def is_lone_wal(database: Path) -> bool:
    """Whether there are -wal rows without a database, which SQLite would delete when opening."""
    wal = _with_suffix(database, "-wal")
    return _size(database) == 0 and _size(wal) > 0


def odd_entries(database: Path) -> list[Path]:
    """What has the name of the database or of a companion and is no file: a folder, a pipe."""
    return [path for suffix in SUFFIXES if is_odd(path := _with_suffix(database, suffix))]


def is_odd(path: Path) -> bool:
    """Whether something is there that is not a file, nor a link to one."""
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return path.is_symlink()  # it leads nowhere, or in a circle


def clear_lock_name(path: Path) -> None:
    """Quarantine what stands where a lock file is needed; a lock's content means nothing.

    A link is quarantined too: locks are opened without following links.
    """
    with suppress(FileNotFoundError, NotADirectoryError):
        if not stat.S_ISREG(path.lstat().st_mode):
            quarantine_user_file(path)


def clear_folder_name(folder: Path) -> None:
    """Quarantine what stands where a folder is needed."""
    with suppress(FileNotFoundError, NotADirectoryError):
        if os.path.lexists(folder) and not folder.is_dir():
            quarantine_user_file(folder)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _stamp(now: datetime) -> str:
    return now.astimezone(UTC).strftime("%Y%m%d-%H%M%S")


def _unused_name(path: Path, stamp: str, label: str) -> Path:
    first = f"{path.name}.{label}-{stamp}"
    names = chain([first], (f"{first}-{number}" for number in count(2)))
    return next(there for name in names if not _taken(there := path.with_name(name)))


def _taken(name: Path) -> bool:
    return any(os.path.lexists(_with_suffix(name, suffix)) for suffix in SUFFIXES)


def _named(folder: Path, prefix: str) -> Iterator[Path]:
    companions = tuple(suffix for suffix in SUFFIXES if suffix)
    with suppress(OSError):
        for path in folder.iterdir():
            if path.name.startswith(prefix) and not path.name.endswith(companions):
                yield path


def _with_suffix(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
