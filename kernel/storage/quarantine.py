"""Whatever cannot be used is renamed beside its place, and never overwritten."""

import logging
import os
import shutil
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

from kernel.storage.failures import explain

logger = logging.getLogger(__name__)

MARK = ".unreadable"


def quarantine_user_file(path: Path) -> Path:
    """Rename a file, folder, pipe or link to an unused name; return it. Raises StorageError."""
    aside = move_aside(path)
    logger.warning("%s could not be used and was quarantined as %s", path, aside.name)
    return aside


def move_aside(path: Path) -> Path:
    """Do the same without a word in the log."""
    return _rename(path, _unused_name(path))


def quarantine_derived(path: Path) -> Path | None:
    """Do the same with what can be made again: of each name only the last is kept.

    Returns where it is now, None if there was nothing. Raises StorageError.
    """
    if not os.path.lexists(path):
        return None
    there = path.with_name(f"{path.name}{MARK}")
    try:
        delete_any(there)
    except OSError as error:
        raise explain(error, path) from error
    logger.warning("%s was moved to %s", path, there.name)
    return _rename(path, there)


def clear_way(folder: Path, depth: int) -> None:
    """Rename what is no folder among ``folder`` and the ``depth`` - 1 above it.

    Raises StorageError.
    """
    for place in reversed([folder, *folder.parents][:depth]):
        if os.path.lexists(place) and not place.is_dir():
            quarantine_user_file(place)


def delete_any(path: Path) -> None:
    """Delete a file, a folder, or anything else, if it is there; raises OSError."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        with suppress(FileNotFoundError):
            path.unlink()


def is_quarantined(path: Path) -> bool:
    """Whether a name is one that is given here."""
    return MARK in path.name


def quarantined(folder: Path) -> list[Path]:
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
        raise explain(error, path) from error
    return there


def _unused_name(path: Path) -> Path:
    first = f"{path.name}{MARK}-{datetime.now(UTC).strftime('%Y%m%d-%H%M%S')}"
    names = chain([first], (f"{first}-{number}" for number in count(2)))
    return next(
        candidate for name in names if not os.path.lexists(candidate := path.with_name(name))
    )
