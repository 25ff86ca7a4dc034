"""Whatever cannot be used is renamed beside its place, never overwritten and never deleted."""

import logging
import os
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

from kernel.storage.failures import explain

logger = logging.getLogger(__name__)

MARK = ".unreadable-"


def quarantine_user_file(path: Path) -> Path:
    """Rename a file, folder, pipe or link to an unused name; return it. Raises StorageError."""
    aside = _unused_name(path)
    try:
        path.rename(aside)
    except OSError as error:
        raise explain(error, path) from error
    return aside


def clear_way(folder: Path, depth: int) -> None:
    """Rename what is no folder among ``folder`` and the ``depth`` - 1 above it.

    Raises StorageError.
    """
    for place in reversed([folder, *folder.parents][:depth]):
        if os.path.lexists(place) and not place.is_dir():
            aside = quarantine_user_file(place)
            logger.warning("%s is no folder and was set aside as %s", place, aside.name)


def _unused_name(path: Path) -> Path:
    first = f"{path.name}{MARK}{datetime.now(UTC).strftime('%Y%m%d-%H%M%S')}"
    names = chain([first], (f"{first}-{number}" for number in count(2)))
    return next(
        candidate for name in names if not os.path.lexists(candidate := path.with_name(name))
    )
