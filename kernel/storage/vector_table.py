"""The vectors of one repository under one embedding config: kept by LanceDB, searched in memory.

A row is a key and its vector; what a key stands for is known elsewhere, and a vector that nobody
uses any more stays until ``keep``. So a crash cannot make a wrong row: an add happened or not.
"""

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np

from kernel.errors import StorageError
from kernel.storage.lance_failures import VectorsDamaged, explained
from kernel.storage.native_memory import give_back
from kernel.storage.resident_vectors import EXACT_NUMBERS
from kernel.storage.vector_codes import (
    AnyFloats,
    BoolArray,
    FloatArray,
    Int64Array,
    Keys,
    at_length_one,
)
from kernel.storage.vector_keys import each_once
from kernel.storage.vector_loading import Loaded, begin_anew, load, load_rows

_logger = logging.getLogger(__name__)

# Compacting takes .2 s of CPU at 13,000 rows and 1.3 s at 400,000, so it is left to idle moments;
# after one there are never more versions than these.
COMMITS_WORTH_COMPACTING = 8
# Who is never idle pays inside an add: each version lists all files, so that time and disk grow
# with the square. From 250 to 500 commits an add takes 4.7 ms, and 500 versions are listed in 100.
COMMITS_AT_MOST = 500
# Of the nearest rows some belong to nobody any more: how many more to look at, again and again.
WIDENING = 4

Live: TypeAlias = Callable[[Int64Array], BoolArray]


class VectorTable:
    """Searched by any thread and never blocked; writers take turns."""

    def __init__(self, folder: Path, contents: Loaded) -> None:
        self._folder = folder
        self._writing = threading.Lock()
        self._contents: Loaded | None = contents
        self._commits = contents.rows.versions()
        self.repaired = ""  # what was damaged when it was opened

    @classmethod
    def open(
        cls, folder: Path, dimensions: int, *, exact_numbers: int = EXACT_NUMBERS
    ) -> "VectorTable":
        """Open the table in ``folder``, or make it; one that cannot be used is set aside.

        Rows that are not as they were written are deleted, and so missing.
        """
        try:
            table = cls(folder, load(folder, dimensions, exact_numbers))
            if rows := table._open().damaged_rows:
                table.repaired = f"{rows} vectors in {folder} were damaged, and are made again."
        except VectorsDamaged as damage:
            begin_anew(folder, damage, dimensions)
            table = cls(folder, load(folder, dimensions, exact_numbers))
            table.repaired = f"{damage} They were moved aside, and are made again."
        give_back()
        return table

    def close(self) -> None:
        """Let go of the memory, once no writer is at work; every later call is refused."""
        with self._writing:
            self._contents = None

    def __len__(self) -> int:
        return len(self._open().resident)

    def add(self, keys: Keys, vectors: AnyFloats) -> None:
        """Add rows in one commit; a key that has a vector already keeps it."""
        fresh, first = np.unique(np.asarray(keys, dtype=np.int64), return_index=True)
        with self._writing:
            contents = self._open()
            absent = ~contents.keys.holds(fresh)
            if not absent.any():
                return
            single = at_length_one(vectors[first[absent]])
            contents.fingerprints.add(fresh[absent], single)
            contents.rows.add(fresh[absent], single)
            contents.resident.append(fresh[absent], single)
            contents.keys.add(fresh[absent])
            self._commits += 1
            if self._commits >= COMMITS_AT_MOST:
                self._compact_at_last()

    def missing(self, keys: Keys) -> Int64Array:
        """Which of these keys have no vector yet, each once."""
        fresh = np.asarray(keys, dtype=np.int64)
        if len(fresh) > 1:  # a search asks for one at a time
            fresh = each_once(fresh)
        return fresh[~self._open().keys.holds(fresh)]

    def search(
        self, vector: AnyFloats, k: int, live: Live | None = None
    ) -> tuple[Int64Array, FloatArray]:
        """The keys and cosines of the ``k`` nearest rows that are ``live``, nearest first."""
        resident = self._open().resident
        wanted = k
        while True:
            keys, cosines = resident.nearest(vector, wanted)
            if live is None:
                return keys, cosines
            alive = live(keys)
            if np.count_nonzero(alive) >= k or len(keys) < wanted:
                return keys[alive][:k], cosines[alive][:k]
            wanted *= WIDENING

    def keep(self, live: Keys) -> int:
        """Delete every row whose key is not among ``live``; returns how many."""
        with self._writing:
            contents = self._open()
            gone = np.setdiff1d(contents.keys.all(), np.asarray(live, dtype=np.int64))
            if len(gone) == 0:
                return 0
            try:
                contents.rows.delete(gone)
            finally:
                # Also when only some were deleted: what is in memory must be what is on disk.
                self._reload()
                # Deleted rows leave the disk when compacted.
                self._commits = max(self._commits, COMMITS_WORTH_COMPACTING)
            return len(gone)

    def compact(self) -> None:
        """Leave one or two versions and few files; searches go on meanwhile."""
        with self._writing:
            self._compact()

    @property
    def wants_compaction(self) -> bool:
        """Whether the next idle moment should be used for ``compact``."""
        return self._commits >= COMMITS_WORTH_COMPACTING

    @property
    def exact(self) -> bool:
        """Whether the table is small enough for cosines to be exact."""
        return self._open().resident.exact

    def versions(self) -> int:
        """How many versions there are on disk."""
        return self._open().rows.versions()

    def fragments(self) -> int:
        """In how many pieces the rows lie on disk."""
        return self._open().rows.fragments()

    def disk_bytes(self) -> int:
        """How much the table takes on disk."""
        with explained(self._folder):
            return sum(file.stat().st_size for file in self._folder.rglob("*") if file.is_file())

    def _open(self) -> Loaded:
        contents = self._contents
        if contents is None:
            raise StorageError(
                f"The vectors in {self._folder} are closed: open the repository again."
            )
        return contents

    def _reload(self) -> None:
        before = self._open()
        self._contents = load_rows(
            before.rows, before.fingerprints, before.dimensions, before.exact_numbers
        )
        self._commits = before.rows.versions()

    def _compact(self) -> None:
        contents = self._open()
        if len(contents.rows) != len(contents.resident):
            contents.rows.delete_repeats()
            self._reload()
        contents.rows.compact()
        give_back()
        self._commits = contents.rows.versions()

    def _compact_at_last(self) -> None:
        try:
            self._compact()
        except StorageError:
            # The add itself is done, and must not be said to have failed.
            _logger.warning(
                "The vectors in %s could not be compacted.", self._folder, exc_info=True
            )
            self._commits = COMMITS_WORTH_COMPACTING
