"""The vectors of one repository under one embedding config.

They are loaded from LanceDB into memory, searched there, repaired and compacted.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from codekernel.domain.concurrency import Lazy
from codekernel.domain.memory import trim_native_memory
from codekernel.errors import StorageError
from codekernel.storage.engines import VectorsDamaged
from codekernel.storage.quarantine import make_timestamp, quarantine_derived_file
from codekernel.storage.vectors.in_memory_vectors import (
    MAX_EXACT_NUMBERS,
    AnyFloatArray,
    BoolArray,
    FloatArray,
    InMemoryVectors,
    Int64Array,
    VectorKeySet,
    VectorKeysLike,
    round_rows,
    sort_unique,
)
from codekernel.storage.vectors.lance_table import (
    Fingerprints,
    HalfArray,
    LanceTable,
)
from codekernel.storage.vectors.snapshot_files import remove_snapshot
from codekernel.storage.vectors.vector_seed import extend_seed, has_seed, plant_seed, read_seed
from codekernel.storage.vectors.vector_snapshot import (
    count_table_versions,
    read_snapshot,
    write_snapshot,
)

logger = logging.getLogger(__name__)

# Rows of a damaged table that are written into the new one in one commit.
SALVAGE_BATCH_SIZE = 50_000

# Of rows that are gone; they take 8 bytes each, and are forgotten when they are many.
MAX_SPARE_FINGERPRINTS = 10_000

# Deleting damaged rows may uncover repeats, and deleting those is a change too.
MAX_LOAD_ATTEMPTS = 4


@dataclass(frozen=True)
class LoadedVectors:
    """A table, opened when it is written to, and what of it is in memory."""

    lance_table: Lazy[LanceTable]
    in_memory: InMemoryVectors
    keys: VectorKeySet
    damaged_rows: int = 0


def load_table(folder: Path, dimensions: int, max_exact_numbers: int) -> LoadedVectors:
    """Open the table in ``folder``, or make it; raises VectorsDamaged."""
    rows = LanceTable.open(folder, dimensions)
    if rows.is_new:  # to look for rows takes as long as to make the table
        in_memory = InMemoryVectors(dimensions, max_exact_numbers=max_exact_numbers)
        return LoadedVectors(Lazy(lambda: rows), in_memory, VectorKeySet(np.empty(0, np.int64)))
    rows.count_versions()  # an old version that cannot be read stops the next compaction
    return load_rows(rows, max_exact_numbers)


def load_snapshot(folder: Path, dimensions: int, max_exact_numbers: int) -> LoadedVectors | None:
    """Read the snapshot of the table in ``folder``; None if there is none of its version."""
    vectors = read_snapshot(folder, dimensions, max_exact_numbers)
    if vectors is None:
        return None

    def open_table() -> LanceTable:
        try:
            rows = LanceTable.open(folder, dimensions)
            rows.count_versions()  # an old version that cannot be read stops the next compaction
        except VectorsDamaged:
            remove_snapshot(folder)  # opening it again finds the damage
            raise
        return rows

    return LoadedVectors(Lazy(open_table), vectors, VectorKeySet(vectors.collect_keys()))


def load_seed(folder: Path, dimensions: int, max_exact_numbers: int) -> LoadedVectors | None:
    """Read the vectors that came from elsewhere; None if there are none."""
    if (seed := read_seed(folder, dimensions)) is None:
        return None
    rows = InMemoryVectors(dimensions, max_exact_numbers=max_exact_numbers)
    rows.append(seed.keys, seed.vectors)
    keys = VectorKeySet(seed.keys)
    return LoadedVectors(Lazy(lambda: plant_seed(folder, dimensions)), rows, keys)


def load_rows(rows: LanceTable, max_exact_numbers: int) -> LoadedVectors:
    """Read every row; those that are damaged or repeated are deleted from the disk first."""
    deleted = 0
    for _ in range(MAX_LOAD_ATTEMPTS):
        loaded, damaged = _read_rows(rows, max_exact_numbers)
        if len(damaged):
            logger.warning("%d vectors are damaged, and made again from their texts", len(damaged))
            rows.delete(damaged)
            deleted += len(damaged)
        elif len(loaded.keys) < len(loaded.in_memory):
            rows.delete_duplicates()
        else:
            return replace(loaded, damaged_rows=deleted)
    raise VectorsDamaged("Vectors that are damaged cannot be deleted.")


def _read_rows(rows: LanceTable, max_exact_numbers: int) -> tuple[LoadedVectors, Int64Array]:
    """Return all rows in memory, and the keys of the damaged ones."""
    in_memory = InMemoryVectors(rows.dimensions, max_exact_numbers=max_exact_numbers)
    if len(rows) * rows.dimensions > max_exact_numbers:
        in_memory.quantize()
    file = rows.fingerprints
    can_compare = file.read()
    read, damaged = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    found: list[Fingerprints] = []
    for keys, vectors, fingerprints in rows.iterate_batches():
        found.append(fingerprints)
        damaged.append(keys[~file.contains(fingerprints)])
        in_memory.append(keys, vectors)
        read.append(keys)
    known = VectorKeySet(np.concatenate(read))
    bad = sort_unique(np.concatenate(damaged))
    if not can_compare or (len(file) > MAX_SPARE_FINGERPRINTS + 2 * len(known) and not len(bad)):
        file.replace(found)
    return LoadedVectors(Lazy(lambda: rows), in_memory, known), bad


def rebuild_table(folder: Path, damage: VectorsDamaged, dimensions: int) -> None:
    """Quarantine a table, and write the rows that can still be read into a new one."""
    aside = quarantine_vectors(folder, damage)
    fresh = LanceTable.open(folder, dimensions)
    fresh.fingerprints.replace([])
    kept = 0
    try:
        for keys, vectors in _read_intact_rows(aside, dimensions):
            fresh.add(keys, vectors)
            kept += len(keys)
    except StorageError as error:
        logger.warning("no more rows of %s can be read: %s", aside.name, error)
    logger.info("%d vectors of %s are kept", kept, aside.name)


def _read_intact_rows(aside: Path, dimensions: int) -> Iterator[tuple[Int64Array, HalfArray]]:
    """Yield the intact rows of a quarantined table, until one cannot be read."""
    old = LanceTable.open(aside, dimensions)
    if not old.fingerprints.read():
        return
    keys, vectors = [np.empty(0, np.int64)], [np.empty((0, dimensions), np.float16)]
    try:
        for some, numbers, fingerprints in old.iterate_batches():
            whole = old.fingerprints.contains(fingerprints)
            keys.append(some[whole])
            vectors.append(numbers[whole])
            if sum(map(len, keys)) >= SALVAGE_BATCH_SIZE:
                yield np.concatenate(keys), np.concatenate(vectors)
                keys, vectors = keys[:1], vectors[:1]
    except StorageError as error:
        logger.warning("not all rows of %s can be read: %s", aside.name, error)
    if sum(map(len, keys)):
        yield np.concatenate(keys), np.concatenate(vectors)


def quarantine_vectors(folder: Path, damage: VectorsDamaged) -> Path:
    """Rename a table that cannot be used; of such tables only the newest is kept."""
    logger.warning("The vectors in %s cannot be used (%s), and are made again.", folder, damage)
    return quarantine_derived_file(folder, f"-{make_timestamp()}") or folder


# Compacting takes .2 s of CPU at 13,000 rows and 1.3 s at 400,000, so it is left to idle moments;
# after one there are never more versions than these.
MIN_COMMITS_TO_COMPACT = 8

# A process that is never idle compacts inside an add: each version lists all files, so that time
# and disk grow with the square. From 250 to 500 commits an add takes 4.7 ms, and 500 versions are
# listed in 100.
MAX_COMMITS = 500

# Some of the nearest rows are not live any more: the factor by which a search is widened.
SEARCH_WIDENING_FACTOR = 4

LiveKeysFilter: TypeAlias = Callable[[Int64Array], BoolArray]


class VectorTable:
    """Searched by any thread without blocking; written by one thread at a time."""

    def __init__(
        self,
        folder: Path,
        dimensions: int,
        contents: LoadedVectors,
        max_commits: int = MAX_COMMITS,
        *,
        is_snapshot: bool = False,
    ) -> None:
        """``is_snapshot``: whether the contents are those of the snapshot on disk."""
        self._folder = folder
        self._dimensions = dimensions
        self._max_commits = max_commits
        self._write_lock = threading.Lock()
        self._contents: LoadedVectors | None = contents
        self._commits = count_table_versions(folder)
        self._has_snapshot, self._has_seed = is_snapshot, has_seed(folder)
        self.repair_message = ""  # what was damaged when it was opened

    @classmethod
    def open(
        cls,
        folder: Path,
        dimensions: int,
        *,
        max_exact_numbers: int = MAX_EXACT_NUMBERS,
        max_commits: int = MAX_COMMITS,
    ) -> "VectorTable":
        """Open the table in ``folder``, or make it; quarantine one that cannot be used.

        Damaged rows are deleted, and so missing.
        """
        if seed := load_seed(folder, dimensions, max_exact_numbers):
            return cls(folder, dimensions, seed, max_commits)
        snapshot = load_snapshot(folder, dimensions, max_exact_numbers)
        if snapshot:
            return cls(folder, dimensions, snapshot, max_commits, is_snapshot=True)
        try:
            contents = load_table(folder, dimensions, max_exact_numbers)
            table = cls(folder, dimensions, contents, max_commits)
            if rows := contents.damaged_rows:
                table.repair_message = (
                    f"{rows} vectors in {folder} were damaged, and are made again."
                )
        except VectorsDamaged as damage:
            rebuild_table(folder, damage, dimensions)
            contents = load_table(folder, dimensions, max_exact_numbers)
            table = cls(folder, dimensions, contents, max_commits)
            table.repair_message = f"{damage} They were moved aside, and are made again."
        if len(table):
            trim_native_memory()
        return table

    def save_snapshot(self) -> None:
        """Write the snapshot from which the next process reads, unless there is one already."""
        with self._write_lock:
            contents = self._require_contents()
            if not self._has_snapshot and len(contents.in_memory) and not has_seed(self._folder):
                self._has_snapshot = write_snapshot(
                    self._folder, self._dimensions, contents.in_memory
                )

    def close(self) -> None:
        """Free the memory once no thread writes; every later call raises StorageError."""
        if self._contents:
            self.save_snapshot()
        with self._write_lock:
            self._contents = None
        trim_native_memory()

    def __len__(self) -> int:
        return len(self._require_contents().in_memory)

    def add(self, keys: VectorKeysLike, vectors: AnyFloatArray) -> None:
        """Add rows in one commit; a key that has a vector already keeps it."""
        fresh, first = np.unique(np.asarray(keys, dtype=np.int64), return_index=True)
        with self._write_lock:
            contents = self._require_contents()
            absent = ~contents.keys.contains(fresh)
            if not absent.any():
                return
            # Rounded as on disk, so that a search does not change with the next start.
            single = round_rows(vectors[first[absent]])
            self._has_snapshot = False
            if not (self._has_seed and extend_seed(self._folder, fresh[absent], single)):
                contents.lance_table().add(fresh[absent], single)
            contents.in_memory.append(fresh[absent], single)
            contents.keys.add(fresh[absent])
            self._commits += 1
            if self._commits >= self._max_commits:
                self._compact_or_log()

    def iterate_stored_rows(self) -> Iterator[tuple[Int64Array, HalfArray]]:
        """Yield the intact rows on disk; called by the thread that writes."""
        rows = self._require_contents().lance_table()
        rows.fingerprints.read()
        for keys, vectors, fingerprints in rows.iterate_batches():
            is_intact = rows.fingerprints.contains(fingerprints)
            yield keys[is_intact], vectors[is_intact]

    def find_missing(self, keys: VectorKeysLike) -> Int64Array:
        """Return which of these keys have no vector yet, each once."""
        fresh = np.asarray(keys, dtype=np.int64)
        if len(fresh) > 1:  # a search asks for one at a time
            fresh = sort_unique(fresh)
        return fresh[~self._require_contents().keys.contains(fresh)]

    def search(
        self, vector: AnyFloatArray, k: int, is_live: LiveKeysFilter | None = None
    ) -> tuple[Int64Array, FloatArray]:
        """Return keys and cosines of the ``k`` nearest rows that are live, nearest first."""
        in_memory = self._require_contents().in_memory
        wanted = k
        while True:
            keys, cosines = in_memory.find_nearest(vector, wanted)
            if is_live is None:
                return keys, cosines
            alive = is_live(keys)
            if np.count_nonzero(alive) >= k or len(keys) < wanted:
                return keys[alive][:k], cosines[alive][:k]
            wanted *= SEARCH_WIDENING_FACTOR

    def delete_except(self, live: VectorKeysLike) -> int:
        """Delete every row whose key is not among ``live``; return how many."""
        with self._write_lock:
            contents = self._require_contents()
            gone = np.setdiff1d(contents.keys.to_array(), np.asarray(live, dtype=np.int64))
            if len(gone) == 0:
                return 0
            self._has_snapshot = False
            try:
                contents.lance_table().delete(gone)
            finally:
                # Also when only some were deleted: what is in memory must be what is on disk.
                self._reload()
                # Deleted rows leave the disk when compacted.
                self._commits = max(self._commits, MIN_COMMITS_TO_COMPACT)
            return len(gone)

    def compact(self) -> None:
        """Leave one version and few files; searches go on meanwhile."""
        with self._write_lock:
            self._compact()

    @property
    def needs_compaction(self) -> bool:
        """Return whether ``compact`` should run when the process is idle."""
        return self._commits >= MIN_COMMITS_TO_COMPACT or has_seed(self._folder)

    def count_versions(self) -> int:
        """Count the versions on disk."""
        return self._require_contents().lance_table().count_versions()

    def _require_contents(self) -> LoadedVectors:
        contents = self._contents
        if contents is None:
            raise StorageError(
                f"The vectors in {self._folder} are closed: open the repository again."
            )
        return contents

    def _reload(self) -> None:
        before = self._require_contents()
        self._contents = load_rows(before.lance_table(), before.in_memory.max_exact_numbers)
        self._commits = count_table_versions(self._folder)

    def _compact(self) -> None:
        contents = self._require_contents()
        rows = contents.lance_table()
        self._has_snapshot = False
        if len(rows) != len(contents.in_memory):
            rows.delete_duplicates()
            self._reload()
        rows.compact()
        trim_native_memory()
        self._commits = count_table_versions(self._folder)

    def _compact_or_log(self) -> None:
        try:
            self._compact()
        except StorageError:
            # The add itself is done, and must not be said to have failed.
            logger.warning("The vectors in %s could not be compacted.", self._folder, exc_info=True)
            self._commits = MIN_COMMITS_TO_COMPACT
