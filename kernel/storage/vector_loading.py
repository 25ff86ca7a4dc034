"""Bringing the rows of a vector table into memory: whole rows alone, and each key once."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from kernel.errors import StorageError
from kernel.storage.lance_failures import VectorsDamaged
from kernel.storage.lance_rows import Halves, LanceRows, set_aside
from kernel.storage.resident_vectors import ResidentVectors
from kernel.storage.vector_codes import Int64Array
from kernel.storage.vector_fingerprints import FingerprintFile, Fingerprints, fingerprints
from kernel.storage.vector_keys import VectorKeys, each_once

logger = logging.getLogger(__name__)

# Rows of a damaged table that are written into the new one in one commit.
SALVAGED_ROWS = 50_000
# Of rows that are gone; they take 8 bytes each, and are forgotten when they are many.
SPARE_FINGERPRINTS = 10_000
# Deleting damaged rows may uncover repeats, and deleting those is a change too.
MAX_LOADS = 4


@dataclass(frozen=True)
class Loaded:
    """An open table and what of it is in memory."""

    rows: LanceRows
    fingerprints: FingerprintFile
    resident: ResidentVectors
    keys: VectorKeys
    dimensions: int
    exact_numbers: int
    damaged_rows: int = 0


def load(folder: Path, dimensions: int, exact_numbers: int) -> Loaded:
    """Open the table in ``folder``, or make it; raises VectorsDamaged."""
    rows = LanceRows.open(folder, dimensions)
    rows.versions()  # an old version that cannot be read stops the next compaction
    return load_rows(rows, FingerprintFile(folder), dimensions, exact_numbers)


def load_rows(
    rows: LanceRows, file: FingerprintFile, dimensions: int, exact_numbers: int
) -> Loaded:
    """Read every row; those that are damaged or repeated are deleted from the disk first."""
    deleted = 0
    for _ in range(MAX_LOADS):
        loaded, damaged = _read(rows, file, dimensions, exact_numbers)
        if len(damaged):
            logger.warning("%d vectors are damaged, and made again from their texts", len(damaged))
            rows.delete(damaged)
            deleted += len(damaged)
        elif len(loaded.keys) < len(loaded.resident):
            rows.delete_repeats()
        else:
            return replace(loaded, damaged_rows=deleted)
    raise VectorsDamaged("Vectors that are damaged cannot be deleted.")


def _read(
    rows: LanceRows, file: FingerprintFile, dimensions: int, exact_numbers: int
) -> tuple[Loaded, Int64Array]:
    """All rows in memory, and the keys of those that are not as they were written."""
    resident = ResidentVectors(dimensions, exact_numbers=exact_numbers)
    if len(rows) * dimensions > exact_numbers:
        resident.encode()
    can_compare = file.read()
    read, damaged = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    found: list[Fingerprints] = []
    for keys, vectors in rows.read():
        found.append(fingerprints(keys, vectors))
        if can_compare:
            damaged.append(keys[~file.holds(found[-1])])
        resident.append(keys, vectors)
        read.append(keys)
    known = VectorKeys(np.concatenate(read))
    bad = each_once(np.concatenate(damaged))
    if not can_compare or (len(file) > SPARE_FINGERPRINTS + 2 * len(known) and not len(bad)):
        file.replace(found)
    return Loaded(rows, file, resident, known, dimensions, exact_numbers), bad


def begin_anew(folder: Path, damage: VectorsDamaged, dimensions: int) -> None:
    """Quarantine a table, and write into a new one those of its rows that can still be read."""
    aside = set_aside(folder, damage, datetime.now(UTC))
    fresh = LanceRows.open(folder, dimensions)
    file = FingerprintFile(folder)
    file.replace([])
    kept = 0
    try:
        for keys, vectors in _salvaged(aside, dimensions):
            file.add(keys, vectors)
            fresh.add(keys, vectors)
            kept += len(keys)
    except StorageError as error:
        logger.warning("no more rows of %s can be read: %s", aside.name, error)
    logger.info("%d vectors of %s are kept", kept, aside.name)


def _salvaged(aside: Path, dimensions: int) -> Iterator[tuple[Int64Array, Halves]]:
    """The rows of a quarantined table that are as they were written, until one cannot be read."""
    old, known = LanceRows.open(aside, dimensions), FingerprintFile(aside)
    if not known.read():
        return
    keys, vectors = [np.empty(0, np.int64)], [np.empty((0, dimensions), np.float16)]
    try:
        for some, numbers in old.read():
            whole = known.holds(fingerprints(some, numbers))
            keys.append(some[whole])
            vectors.append(numbers[whole])
            if sum(map(len, keys)) >= SALVAGED_ROWS:
                yield np.concatenate(keys), np.concatenate(vectors)
                keys, vectors = keys[:1], vectors[:1]
    except StorageError as error:
        logger.warning("not all rows of %s can be read: %s", aside.name, error)
    if sum(map(len, keys)):
        yield np.concatenate(keys), np.concatenate(vectors)
