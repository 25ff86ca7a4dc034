"""Quarantine what cannot be used.

Rename files, folders and databases with their -wal and -shm companions, never overwrite them.
"""

import logging
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

from codekernel.storage.os_errors import explain_os_error

logger = logging.getLogger(__name__)

QUARANTINE_MARK = ".unreadable"


def quarantine_user_file(path: Path) -> Path:
    """Rename a file, folder, pipe or link to an unused name; return it. Raises StorageError."""
    aside = rename_to_quarantine(path)
    logger.warning("%s could not be used and was quarantined as %s", path, aside.name)
    return aside


def rename_to_quarantine(path: Path) -> Path:
    """Do the same without a word in the log."""
    return _rename(path, _find_unused_name(path))


def quarantine_derived_file(path: Path) -> Path | None:
    """Do the same with what can be made again: of each name only the last is kept.

    Returns where it is now, None if there was nothing. Raises StorageError.
    """
    if not os.path.lexists(path):
        return None
    there = path.with_name(f"{path.name}{QUARANTINE_MARK}")
    try:
        delete_path(there)
    except OSError as error:
        raise explain_os_error(error, path) from error
    logger.warning("%s was moved to %s", path, there.name)
    return _rename(path, there)


def clear_parent_folders(folder: Path, depth: int) -> None:
    """Rename what is no folder among ``folder`` and the ``depth`` - 1 above it.

    Raises StorageError.
    """
    for place in reversed([folder, *folder.parents][:depth]):
        if os.path.lexists(place) and not place.is_dir():
            quarantine_user_file(place)


def delete_path(path: Path) -> None:
    """Delete a file, a folder, or anything else, if it is there; raises OSError."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        with suppress(FileNotFoundError):
            path.unlink()


def is_quarantined(path: Path) -> bool:
    """Whether a name is one that is given here."""
    return QUARANTINE_MARK in path.name


def list_quarantined(folder: Path) -> list[Path]:
    """Everything of one index that was moved aside."""
    places = (folder, folder / "vectors")
    return sorted(
        entry
        for place in places
        if place.is_dir()
        for entry in place.iterdir()
        if is_quarantined(entry)
    )


def _rename(path: Path, there: Path) -> Path:
    try:
        path.rename(there)
    except OSError as error:
        raise explain_os_error(error, path) from error
    return there


def _find_unused_name(path: Path) -> Path:
    first = f"{path.name}{QUARANTINE_MARK}-{datetime.now(UTC).strftime('%Y%m%d-%H%M%S')}"
    names = chain([first], (f"{first}-{number}" for number in count(2)))
    return next(
        candidate for name in names if not os.path.lexists(candidate := path.with_name(name))
    )


# The database itself goes last: without it SQLite would take a lone -wal file for rubbish.
DATABASE_SUFFIXES = ("-wal", "-shm", "-journal", "")

# What became of a database that was moved away.
UNREADABLE_LABEL = "unreadable"  # nothing more can be read from it

PENDING_LABEL = "pending"  # its rows are still to be taken over

POCKETRAG_LABEL = "pocketrag"  # an earlier PocketRAG's, taken over; its keys are in plain text


def quarantine_database(
    database: Path, quarantined_at: datetime, label: str = UNREADABLE_LABEL
) -> Path:
    """Rename the database and its companions together; returns the database's new path."""
    return rename_database(
        database, _find_unused_database_name(database, _format_timestamp(quarantined_at), label)
    )


def rename_database(database: Path, target: Path) -> Path:
    """Give the database and its companions another name, all of them or none."""
    moved: list[tuple[Path, Path]] = []
    try:
        for suffix in DATABASE_SUFFIXES:
            here, there = _append_suffix(database, suffix), _append_suffix(target, suffix)
            if os.path.lexists(here):
                here.rename(there)
                moved.append((here, there))
    except OSError as error:
        for here, there in reversed(moved):
            with suppress(OSError):
                there.rename(here)
        raise explain_os_error(error, database) from error
    return target


def rename_pending_database(pending: Path, label: str) -> Path:
    """Rename a database whose rows were taken over, for its owner's eyes alone."""
    name, _, stamp = pending.name.partition(f".{PENDING_LABEL}-")
    database = pending.with_name(name)
    target = rename_database(pending, _find_unused_database_name(database, stamp, label))
    for suffix in DATABASE_SUFFIXES:
        with suppress(OSError):
            _append_suffix(target, suffix).chmod(0o600)
    return target


def list_quarantined_databases(database: Path, label: str) -> list[Path]:
    """The databases moved away under ``label``, the oldest first, without their companions."""
    return sorted(_list_with_prefix(database.parent, f"{database.name}.{label}-"))


def has_orphan_wal(database: Path) -> bool:
    """Whether there are -wal rows without a database, which SQLite would delete when opening."""
    wal = _append_suffix(database, "-wal")
    return _read_size(database) == 0 and _read_size(wal) > 0


def list_irregular_entries(database: Path) -> list[Path]:
    """What has the name of the database or of a companion and is no file: a folder, a pipe."""
    return [
        path
        for suffix in DATABASE_SUFFIXES
        if is_irregular(path := _append_suffix(database, suffix))
    ]


def is_irregular(path: Path) -> bool:
    """Whether something is there that is not a file, nor a link to one."""
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return path.is_symlink()  # it leads nowhere, or in a circle


def clear_lock_path(path: Path) -> None:
    """Quarantine what stands where a lock file is needed; a lock's content means nothing.

    A link is quarantined too: locks are opened without following links.
    """
    with suppress(FileNotFoundError, NotADirectoryError):
        if not stat.S_ISREG(path.lstat().st_mode):
            quarantine_user_file(path)


def clear_folder_path(folder: Path) -> None:
    """Quarantine what stands where a folder is needed."""
    with suppress(FileNotFoundError, NotADirectoryError):
        if os.path.lexists(folder) and not folder.is_dir():
            quarantine_user_file(folder)


def _read_size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _format_timestamp(now: datetime) -> str:
    return now.astimezone(UTC).strftime("%Y%m%d-%H%M%S")


def _find_unused_database_name(path: Path, stamp: str, label: str) -> Path:
    first = f"{path.name}.{label}-{stamp}"
    names = chain([first], (f"{first}-{number}" for number in count(2)))
    return next(there for name in names if not _is_taken(there := path.with_name(name)))


def _is_taken(name: Path) -> bool:
    return any(os.path.lexists(_append_suffix(name, suffix)) for suffix in DATABASE_SUFFIXES)


def _list_with_prefix(folder: Path, prefix: str) -> Iterator[Path]:
    companions = tuple(suffix for suffix in DATABASE_SUFFIXES if suffix)
    with suppress(OSError):
        for path in folder.iterdir():
            if path.name.startswith(prefix) and not path.name.endswith(companions):
                yield path


def _append_suffix(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
