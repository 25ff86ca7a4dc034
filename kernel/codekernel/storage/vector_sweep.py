"""Deletes vectors that no index of a userData folder has used for a while. Heavy to import."""

import logging
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import closing
from pathlib import Path

import numpy as np

from codekernel.errors import StorageError
from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.catalog.tables import check_catalog_readable
from codekernel.storage.index_store import CATALOG_FILE
from codekernel.storage.safe_files import create_private_file, read_size
from codekernel.storage.user_data import UserData
from codekernel.storage.vectors import SHARED_VECTORS_SUFFIX
from codekernel.storage.vectors.in_memory_vectors import Int64Array, sort_unique
from codekernel.storage.vectors.shared_vectors import sweep_shared_vectors

logger = logging.getLogger(__name__)

# A branch, a worktree or a repository that was removed and comes back within it embeds nothing.
MAX_UNUSED_SECONDS = 30 * 24 * 60 * 60

SWEEP_INTERVAL_SECONDS = 24 * 60 * 60

_SWEPT_FILE = "swept"


class VectorSweeper:
    """Measures and deletes the shared vectors of one userData folder.

    ``list_index_folders`` returns the indexes that count.
    """

    def __init__(
        self, user_data: UserData, list_index_folders: Callable[[], Iterable[Path]]
    ) -> None:
        self._folder = user_data.shared_vectors_folder
        self._list_index_folders = list_index_folders

    def measure(self) -> int:
        """Return how many bytes the vectors take that all indexes share."""
        return sum(map(read_size, self._list_files()))

    def sweep(
        self,
        max_unused_seconds: float,
        *,
        without: Collection[Path] = (),
        dry_run: bool = False,
    ) -> int:
        """Delete the vectors that no index uses; return how many bytes they took.

        ``without``: indexes that do not count, because they are about to be deleted. Nothing is
        deleted if a catalog cannot be read: what it uses is unknown.
        """
        files = self._list_files()
        if not files:
            return 0
        try:
            live = _read_live_keys(
                each for each in self._list_index_folders() if each not in without
            )
            return sum(
                sweep_shared_vectors(file, live, max_unused_seconds, dry_run=dry_run)
                for file in files
            )
        except StorageError as error:
            logger.info("unused vectors are kept: %s", error)
            return 0

    def sweep_if_due(self) -> None:
        """Delete what has been unused for long, at most once a day."""
        swept = self._folder / _SWEPT_FILE
        try:
            if time.time() - swept.stat().st_mtime < SWEEP_INTERVAL_SECONDS:
                return
        except OSError:
            pass
        if self._list_files():
            swept.unlink(missing_ok=True)
            create_private_file(swept)
            self.sweep(MAX_UNUSED_SECONDS)

    def _list_files(self) -> list[Path]:
        """Return the databases, one for each model."""
        return sorted(self._folder.glob(f"*{SHARED_VECTORS_SUFFIX}"))


def _read_live_keys(index_folders: Iterable[Path]) -> Int64Array:
    """Return the keys of all texts in these indexes. Raises StorageError."""
    found = [np.empty(0, np.int64)]
    for folder in index_folders:
        path = folder / CATALOG_FILE
        if read_size(path):
            check_catalog_readable(path)
            with closing(Catalog(path)) as catalog:
                found.append(np.asarray(catalog.read_all_keys()))
    return sort_unique(np.concatenate(found))
