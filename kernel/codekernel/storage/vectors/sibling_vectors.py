"""Vectors of the same texts under other indexes: another worktree, clone or branch of a project.

Vectors are named by the hash of their text, in folders named after model and chunk size, so that
what one index has embedded serves all indexes of a userData folder.
"""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from codekernel.errors import StorageError
from codekernel.storage.vectors.in_memory_vectors import (
    FloatArray,
    Int64Array,
    VectorRows,
    find_in_sorted,
    sort_unique,
)
from codekernel.storage.vectors.lance_table import TABLE_NAME, LanceTable
from codekernel.storage.vectors.vector_snapshot import read_snapshot

logger = logging.getLogger(__name__)

# 512 MB: half a million texts of 256 numbers. Of more, the most recently written tables are used.
MAX_LOADED_NUMBERS = 128 * 1024 * 1024

_NO_LIMIT = 2**62


class SiblingVectors:
    """The vectors of other tables, loaded once; one thread at a time."""

    def __init__(self, folders: Iterable[Path], dimensions: int) -> None:
        """Read the tables in ``folders``; one that cannot be read is left out."""
        self._dimensions = dimensions
        self._tables: list[tuple[VectorRows, Int64Array, Int64Array]] = []
        left = MAX_LOADED_NUMBERS
        for folder in sorted(folders, key=_read_mtime, reverse=True):
            rows = _load_rows(folder, dimensions)
            left -= rows.count * dimensions
            if left < 0:
                break
            keys = np.concatenate(
                [np.empty(0, np.int64), *(block[0] for _, block in rows.iterate_blocks())]
            )
            order = np.argsort(keys, kind="stable")
            self._tables.append((rows, keys[order], order))

    def find(self, keys: Int64Array) -> Iterator[tuple[Int64Array, FloatArray]]:
        """Yield keys that have a vector somewhere, each once, with their vectors."""
        wanted = sort_unique(keys)
        for rows, ascending, order in self._tables:
            here = wanted[find_in_sorted(wanted, ascending)]
            if len(here):
                positions = np.sort(order[np.searchsorted(ascending, here)])
                found, vectors = rows.take(positions)
                yield found, vectors
                wanted = wanted[~find_in_sorted(wanted, here)]


def _load_rows(folder: Path, dimensions: int) -> VectorRows:
    """Return the exact rows of a table: of its snapshot, else of the table itself."""
    snapshot = read_snapshot(folder, dimensions, _NO_LIMIT)
    if snapshot:
        return snapshot.rows
    rows = VectorRows()
    if not (folder / f"{TABLE_NAME}.lance").is_dir():  # it would be made
        return rows
    try:
        table = LanceTable.open(folder, dimensions)
        if not table.fingerprints.read():  # nothing says which vectors are as they were written
            return rows
        for keys, vectors, fingerprints in table.iterate_batches():
            is_intact = table.fingerprints.contains(fingerprints)
            rows = rows.append(keys[is_intact], vectors[is_intact].astype(np.float32))
    except StorageError as error:
        logger.info("the vectors in %s are not shared: %s", folder, error)
        return VectorRows()
    return rows


def _read_mtime(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0
