"""Where the snapshots of vectors lie, and whether they are quick to read; without numpy."""

import logging
from collections.abc import Sequence
from pathlib import Path

from codekernel.storage.vectors import SNAPSHOT_SUFFIX

logger = logging.getLogger(__name__)

# They take 30 ms to read for each 22 MB; larger ones would hold up the first questions.
MAX_QUICK_SNAPSHOT_BYTES = 64 * 1024 * 1024


def get_snapshot_path(folder: Path) -> Path:
    """Return the path of the snapshot of the table in ``folder``."""
    return folder.with_name(folder.name + SNAPSHOT_SUFFIX)


def have_snapshots(folders: Sequence[Path]) -> bool:
    """Return whether there are tables, and each of them has a snapshot."""
    return bool(folders) and all(get_snapshot_path(folder).is_file() for folder in folders)


def are_quick_to_read(folders: Sequence[Path]) -> bool:
    """Return whether each of these tables has a snapshot, and all can be read at once."""
    try:
        sizes = [get_snapshot_path(folder).stat().st_size for folder in folders]
    except OSError:
        return False
    return 0 < sum(sizes) <= MAX_QUICK_SNAPSHOT_BYTES


def remove_snapshot(folder: Path) -> None:
    """Delete the snapshot, because the table itself must be looked at."""
    try:
        get_snapshot_path(folder).unlink(missing_ok=True)
    except OSError as error:
        logger.info("a snapshot stays: %s", error)
