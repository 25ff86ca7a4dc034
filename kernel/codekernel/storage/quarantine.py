"""Quarantine what cannot be used: rename it, and never overwrite it.

User files get an unused name with the time; derived files, which can be made again, keep one copy.
A database moves together with its -wal, -shm and -journal companions.
"""

import logging
import os
import shutil
import stat
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

from codekernel.storage.safe_files import (
    add_suffix,
    explain_os_error,
    read_size,
    translate_os_errors,
)

logger = logging.getLogger(__name__)

# What became of a file that was moved away.
UNREADABLE_LABEL = "unreadable"  # nothing more can be read from it

PENDING_LABEL = "pending"  # its rows are still to be imported

POCKETRAG_LABEL = "pocketrag"  # an earlier PocketRAG's, imported; its keys are in plain text

QUARANTINE_MARK = f".{UNREADABLE_LABEL}"

# The database itself goes last: without it SQLite would discard a lone -wal file.
DATABASE_SUFFIXES = ("-wal", "-shm", "-journal", "")

CHECKSUM_SUFFIX = ".sums"  # the checksums of the pages of a derived database

DERIVED_DATABASE_SUFFIXES = (CHECKSUM_SUFFIX, *DATABASE_SUFFIXES)

_NO_SUFFIX = ("",)


def quarantine_user_file(path: Path) -> Path:
    """Rename a file, folder, pipe or link to an unused name; return it. Raises StorageError."""
    aside = rename_to_quarantine(path)
    logger.warning("%s could not be used and was quarantined as %s", path, aside.name)
    return aside


def rename_to_quarantine(path: Path) -> Path:
    """Do the same without a log line."""
    target = _find_unused_name(path, UNREADABLE_LABEL, _NO_SUFFIX, make_timestamp())
    return _rename_all(path, target, _NO_SUFFIX)


def quarantine_derived_file(path: Path, stamp: str = "") -> Path | None:
    """Quarantine what can be made again; of each name only the last is kept.

    Returns the new path, with ``stamp`` at its end; None if there was nothing. Raises StorageError.
    """
    if not os.path.lexists(path):
        return None
    there = path.with_name(f"{path.name}{QUARANTINE_MARK}{stamp}")
    pattern = f"{path.name}{QUARANTINE_MARK}-*"
    with translate_os_errors(path):
        for older in path.parent.glob(pattern) if stamp else (there,):
            _delete_path(older)
    logger.warning("%s was moved to %s", path, there.name)
    return _rename_all(path, there, _NO_SUFFIX)


def quarantine_derived_database(path: Path) -> None:
    """Quarantine a derived database with its companions. Raises StorageError."""
    for end in DERIVED_DATABASE_SUFFIXES:
        quarantine_derived_file(add_suffix(path, end))


def quarantine_database(
    database: Path, label: str = UNREADABLE_LABEL, now: datetime | None = None
) -> Path:
    """Rename the database and its companions, all or none; return the database's new path."""
    target = _find_unused_name(database, label, DATABASE_SUFFIXES, make_timestamp(now))
    return _rename_all(database, target, DATABASE_SUFFIXES)


def rename_pending_database(pending: Path, label: str) -> Path:
    """Rename a database whose rows were imported, readable by its owner alone."""
    name, _, stamp = pending.name.partition(f".{PENDING_LABEL}-")
    target = _find_unused_name(pending.with_name(name), label, DATABASE_SUFFIXES, stamp)
    _rename_all(pending, target, DATABASE_SUFFIXES)
    for suffix in DATABASE_SUFFIXES:
        with suppress(OSError):
            add_suffix(target, suffix).chmod(0o600)
    return target


def clear_parent_folders(folder: Path, depth: int = 1) -> None:
    """Quarantine what is not a folder among ``folder`` and the ``depth`` - 1 above it.

    Raises StorageError.
    """
    for place in reversed([folder, *folder.parents][:depth]):
        if os.path.lexists(place) and not place.is_dir():
            quarantine_user_file(place)


def clear_lock_path(path: Path) -> None:
    """Quarantine what stands where a lock file is needed; a lock has no content to lose.

    A link is quarantined too: locks are opened without following links.
    """
    with suppress(FileNotFoundError, NotADirectoryError):
        if not stat.S_ISREG(path.lstat().st_mode):
            quarantine_user_file(path)


def is_quarantined(path: Path) -> bool:
    """Return whether a name is one that is given here."""
    return QUARANTINE_MARK in path.name


def list_quarantined(folder: Path) -> list[Path]:
    """Return everything of one index that was quarantined."""
    return sorted(read_quarantined_inodes(folder))


def read_quarantined_inodes(folder: Path) -> dict[Path, int]:
    """Return the inode of everything of one index that was quarantined, by its path."""
    found: dict[Path, int] = {}
    for place in (folder, folder / "vectors"):
        for entry in filter(is_quarantined, place.iterdir() if place.is_dir() else ()):
            with suppress(OSError):
                found[entry] = entry.lstat().st_ino
    return found


def list_quarantined_databases(database: Path, label: str) -> list[Path]:
    """Return the databases moved away under ``label``, oldest first, without their companions."""
    start, companions = f"{database.name}.{label}-", DATABASE_SUFFIXES[:-1]
    with suppress(OSError):
        found = [path for path in database.parent.iterdir() if path.name.startswith(start)]
        return sorted(path for path in found if not path.name.endswith(companions))
    return []


def has_orphan_wal(database: Path) -> bool:
    """Return whether there are -wal rows without a database, which SQLite would delete."""
    return read_size(database) == 0 and read_size(add_suffix(database, "-wal")) > 0


def list_irregular_entries(database: Path) -> list[Path]:
    """Return the database and companions that are not files but folders, pipes, broken links."""
    paths = [add_suffix(database, suffix) for suffix in DATABASE_SUFFIXES]
    return [path for path in paths if is_irregular(path)]


def is_irregular(path: Path) -> bool:
    """Return whether something is there that is not a file, nor a link to one."""
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return path.is_symlink()  # it leads nowhere, or in a circle


def make_timestamp(now: datetime | None = None) -> str:
    """Return the time as it stands in the names of quarantined files."""
    return f"{(now or datetime.now(UTC)).astimezone(UTC):%Y%m%d-%H%M%S}"


def _rename_all(path: Path, target: Path, suffixes: tuple[str, ...]) -> Path:
    """Rename ``path`` with each of the suffixes, all that are there or none."""
    moved: list[tuple[Path, Path]] = []
    try:
        for suffix in suffixes:
            here, there = add_suffix(path, suffix), add_suffix(target, suffix)
            if suffixes == _NO_SUFFIX or os.path.lexists(here):
                here.rename(there)
                moved.append((here, there))
    except OSError as error:
        for here, there in reversed(moved):
            with suppress(OSError):
                there.rename(here)
        raise explain_os_error(error, path) from error
    return target


def _find_unused_name(path: Path, label: str, suffixes: tuple[str, ...], stamp: str) -> Path:
    first = f"{path.name}.{label}-{stamp}"
    names = chain([first], (f"{first}-{number}" for number in count(2)))
    return next(
        there
        for there in map(path.with_name, names)
        if not any(os.path.lexists(add_suffix(there, suffix)) for suffix in suffixes)
    )


def _delete_path(path: Path) -> None:
    """Delete a file, a folder, or anything else, if it is there; raises OSError."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
