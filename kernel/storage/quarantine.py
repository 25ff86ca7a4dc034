"""Whatever cannot be used is renamed beside its place, never overwritten and never deleted."""

import os
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

from kernel.storage.failures import explain

MARK = ".unreadable-"


def quarantine(path: Path) -> Path:
    """Rename a file, folder, pipe or link to an unused name; return it. Raises StorageError."""
    aside = _unused_name(path)
    try:
        path.rename(aside)
    except OSError as error:
        raise explain(error, path) from error
    return aside


def _unused_name(path: Path) -> Path:
    first = f"{path.name}{MARK}{datetime.now(UTC).strftime('%Y%m%d-%H%M%S')}"
    names = chain([first], (f"{first}-{number}" for number in count(2)))
    return next(
        candidate for name in names if not os.path.lexists(candidate := path.with_name(name))
    )
