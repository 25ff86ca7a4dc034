"""The rows of a LanceDB table on disk; only lance_worker.py imports this."""

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from codekernel.domain.memory import trim_native_memory
from codekernel.storage.engines import VectorsDamaged, translate_lance_errors
from codekernel.storage.safe_files import is_usable_tree, make_private_parents
from codekernel.storage.vectors.lancedb_import import import_lancedb

Keys = npt.NDArray[np.int64]

Halves = npt.NDArray[np.float16]

Batch = tuple[Keys, Halves]

TABLE_NAME = "rows"

TABLE_METADATA = {b"codekernel": b"vectors-1"}

# A predicate of so many keys deletes in 0.15 s of CPU from 400,000 rows; longer ones gain nothing.
DELETE_BATCH_SIZE = 20_000

# Zero would do, but LanceDB warns of readers in other processes, which there are not.
MAX_VERSION_AGE = timedelta(milliseconds=1)


class LanceRows:
    """An open table; one thread at a time."""

    def __init__(self, folder: Path, table: Any, dimensions: int, *, is_new: bool = False) -> None:
        self._folder = folder
        self._table = table
        self._dimensions, self.is_new = dimensions, is_new
        self._batches: Iterator[Batch] = iter(())
        self._next_batch = 0  # the place of the one that ``_batches`` yields next

    @classmethod
    def open(cls, folder: Path, dimensions: int) -> "LanceRows":
        """Open the table, or make it; raises VectorsDamaged if it cannot be used."""
        database = _connect(folder)
        with translate_lance_errors(folder):
            schema = _build_rows(np.empty(0, np.int64), np.empty((0, dimensions))).schema
            if not any(folder.iterdir()):
                table = database.create_table(TABLE_NAME, schema=schema)
                return cls(folder, table, dimensions, is_new=True)
            table = database.open_table(TABLE_NAME)
            ours = table.schema.equals(schema, check_metadata=True)
        if not ours:
            raise VectorsDamaged(
                f"The table in {folder} is not one of {dimensions} numbers a row in this format."
            )
        return cls(folder, table, dimensions)

    def count_rows(self) -> int:
        """Count the rows."""
        with translate_lance_errors(self._folder):
            count: int = self._table.count_rows()
        return count

    def read_batch(self, place: int) -> Batch | None:
        """Return the rows of one batch, None after the last; 0 begins anew."""
        if place == 0 or place != self._next_batch:
            self._batches, self._next_batch = self._iterate_batches(), 0
        while self._next_batch < place:  # those before it were read by a process that has ended
            next(self._batches, None)
            self._next_batch += 1
        self._next_batch += 1
        return next(self._batches, None)

    def _iterate_batches(self) -> Iterator[Batch]:
        with translate_lance_errors(self._folder):
            for batch in self._table.search().select(["key", "vector"]).to_batches():
                numbers = batch.column("vector").flatten().to_numpy(zero_copy_only=False)
                keys = batch.column("key").to_numpy()
                yield keys, numbers.reshape(len(keys), self._dimensions)

    def add(self, keys: Keys, vectors: Halves) -> None:
        """Add rows in one commit."""
        with translate_lance_errors(self._folder):
            self._table.add(_build_rows(keys, vectors))

    def delete(self, keys: Keys) -> None:
        """Delete every row of these keys, in as many commits as it takes."""
        for start in range(0, len(keys), DELETE_BATCH_SIZE):
            self._delete_where_in("key", keys[start : start + DELETE_BATCH_SIZE])

    def delete_duplicates(self) -> None:
        """Delete all but the first row of each key."""
        with translate_lance_errors(self._folder):
            found = self._table.search().select(["key"]).with_row_id(with_row_id=True).to_arrow()
        keys, rows = found["key"].to_numpy(), found["_rowid"].to_numpy()
        _, first = np.unique(keys, return_index=True)
        repeats = np.delete(rows, first)
        # Only a commit for all of them leaves the remaining row numbers as they are.
        if len(repeats):
            self._delete_where_in("_rowid", repeats)

    def compact(self) -> None:
        """Merge small files into large ones, and remove what only older versions need."""
        with translate_lance_errors(self._folder):
            self._optimize()
            # It commits twice, and on a fast disk the first commit, which holds all the old files,
            # is too young to be removed.
            if self.count_versions() > 1:
                time.sleep(MAX_VERSION_AGE.total_seconds())
                self._optimize()
        trim_native_memory()

    def _optimize(self) -> None:
        # Unverified files are of adds that a crash interrupted: no other process writes here.
        self._table.optimize(cleanup_older_than=MAX_VERSION_AGE, delete_unverified=True)

    def count_versions(self) -> int:
        """Count the versions on disk."""
        with translate_lance_errors(self._folder):
            return len(self._table.list_versions())

    def _delete_where_in(self, column: str, values: "np.ndarray[Any, Any]") -> None:
        with translate_lance_errors(self._folder):
            self._table.delete(f"{column} IN ({','.join(map(str, values.tolist()))})")


def read_dimensions(folder: Path) -> int:
    """Return the dimensions of the table; raises VectorsDamaged."""
    database = _connect(folder)
    with translate_lance_errors(folder):
        schema = database.open_table(TABLE_NAME).schema
        dimensions: int = getattr(schema.field("vector").type, "list_size", 0)
    return dimensions


def _connect(folder: Path) -> Any:
    """Return LanceDB's database in a folder; raises VectorsDamaged."""
    lancedb = import_lancedb()
    if not is_usable_tree(folder):  # LanceDB would block on a pipe
        raise VectorsDamaged(f"Something in {folder} is not a file that can be read.")
    with translate_lance_errors(folder):
        make_private_parents(folder)
        return lancedb.connect(str(folder))


def _build_rows(keys: Keys, vectors: npt.NDArray[Any]) -> Any:
    """Return rows of the table in Arrow's format."""
    numbers = pa.array(vectors.astype(np.float16, copy=False).reshape(-1))
    dimensions = vectors.shape[1]
    fields = [
        pa.field("key", pa.int64(), nullable=False),
        pa.field("vector", pa.list_(pa.float16(), dimensions), nullable=False),
    ]
    columns = [pa.array(keys, pa.int64()), pa.FixedSizeListArray.from_arrays(numbers, dimensions)]
    return pa.table(columns, schema=pa.schema(fields, metadata=TABLE_METADATA))
