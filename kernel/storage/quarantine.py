"""Moving what is damaged in an index aside: kept as it is, but only the last of each name."""

import logging
import os
import shutil
from contextlib import suppress
from pathlib import Path

from kernel.storage.failures import explain

logger = logging.getLogger(__name__)

SUFFIX = ".unreadable"


def quarantine(path: Path) -> Path | None:
    """Rename whatever stands at ``path``; returns where it is now, none if there was nothing.

    An earlier quarantine of the same name is deleted. Raises StorageError.
    """
    if not os.path.lexists(path):
        return None
    there = path.with_name(f"{path.name}{SUFFIX}")
    try:
        delete_any(there)
        path.rename(there)
    except OSError as error:
        raise explain(error, path) from error
    logger.warning("%s was moved to %s", path, there.name)
    return there


def delete_any(path: Path) -> None:
    """Delete a file, a folder, or anything else, if it is there; raises OSError."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        with suppress(FileNotFoundError):
            path.unlink()


def is_quarantined(path: Path) -> bool:
    """Whether a name is one that ``quarantine`` gives."""
    return SUFFIX in path.name


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
