"""A LanceDB table of keys and vectors on disk, and a fingerprint (checksum) for each row."""

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from codekernel.errors import StorageError
from codekernel.storage.engines import VectorsDamaged, translate_lance_errors
from codekernel.storage.safe_files import (
    is_usable_file,
    is_usable_tree,
    make_private_parents,
    translate_os_errors,
    write_bytes_atomically,
)
from codekernel.storage.vectors.in_memory_vectors import (
    AnyFloatArray,
    BoolArray,
    Int64Array,
    find_in_sorted,
)
from codekernel.storage.vectors.lancedb_import import import_lancedb

FINGERPRINTS_FILE = "rows.sums"

_FINGERPRINT_BYTES = 8

Fingerprints: TypeAlias = npt.NDArray[np.uint64]


class FingerprintFile:
    """The fingerprints of one table; one thread at a time."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FINGERPRINTS_FILE
        self._known: Fingerprints | None = None

    def read(self) -> bool:
        """Read the file; false if there is none to compare with."""
        self._known = None
        if not is_usable_file(self.path):
            return False
        with translate_os_errors(self.path):
            content = self.path.read_bytes()
        whole = len(content) - len(content) % _FINGERPRINT_BYTES
        self._known = np.sort(np.frombuffer(content[:whole], "<u8").astype(np.uint64))
        return True

    def __len__(self) -> int:
        return 0 if self._known is None else len(self._known)

    def contains(self, found: Fingerprints) -> BoolArray:
        """Return for each fingerprint whether it is in the file; true if there was no file."""
        if self._known is None:
            return np.ones(len(found), np.bool_)
        return find_in_sorted(found, self._known)

    def add(self, found: Fingerprints) -> None:
        """Write the fingerprints of rows that are about to be written."""
        with translate_os_errors(self.path), self.path.open("ab") as file:
            # A kill may have left half of one.
            padding = b"\0" * (-file.tell() % _FINGERPRINT_BYTES)
            file.write(padding + found.astype("<u8").tobytes())

    def replace(self, rows: list[Fingerprints]) -> None:
        """Replace the file by these fingerprints."""
        found = np.concatenate([np.empty(0, np.uint64), *rows]).astype("<u8")
        with suppress(StorageError):  # a full disk: another time
            write_bytes_atomically(self.path, found.tobytes())


def compute_fingerprints(keys: Int64Array, vectors: npt.NDArray[np.float16]) -> Fingerprints:
    """Return a number for each row that any changed bit changes."""
    numbers = np.ascontiguousarray(vectors).view(np.uint16)
    weights = _make_weights(numbers.shape[1] + 1)
    if numbers.shape[1] % 2 == 0:  # half as many products
        numbers, weights = numbers.view(np.uint32), weights[: numbers.shape[1] // 2 + 1]
    found: Fingerprints = numbers.astype(np.uint64) @ weights[1:]
    found += keys.astype(np.uint64) * weights[0]
    return found


@lru_cache(maxsize=4)
def _make_weights(count: int) -> Fingerprints:
    """Return fixed random odd numbers: an odd multiple of a bit is never zero."""
    raw = b"".join(
        hashlib.blake2b(place.to_bytes(4, "little"), digest_size=_FINGERPRINT_BYTES).digest()
        for place in range(count)
    )
    odd: Fingerprints = np.frombuffer(raw, "<u8").astype(np.uint64) | np.uint64(1)
    return odd


HalfArray: TypeAlias = npt.NDArray[np.float16]

TABLE_NAME = "rows"

TABLE_METADATA = {b"codekernel": b"vectors-1"}

# A predicate of so many keys deletes in 0.15 s of CPU from 400,000 rows; longer ones gain nothing.
DELETE_BATCH_SIZE = 20_000

# Zero would do, but LanceDB warns of readers in other processes, which there are not.
MAX_VERSION_AGE = timedelta(milliseconds=1)

# What LanceDB may have read ahead of itself. With its own 2 GB it reads a whole file at once: a
# compaction of 660,000 rows then took 361 MB at its peak, and with 16 MB 132, at the same CPU.
READ_AHEAD_VARIABLE = ("LANCE_DEFAULT_IO_BUFFER_SIZE", str(16 * 1024 * 1024))


class LanceTable:
    """An open table; one thread at a time."""

    def __init__(self, folder: Path, table: Any, dimensions: int, *, is_new: bool = False) -> None:
        self._folder = folder
        self._table = table
        self.dimensions, self.is_new = dimensions, is_new
        self.fingerprints = FingerprintFile(folder)

    @classmethod
    def open(cls, folder: Path, dimensions: int) -> "LanceTable":
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

    def __len__(self) -> int:
        with translate_lance_errors(self._folder):
            count: int = self._table.count_rows()
        return count

    def iterate_batches(self) -> Iterator[tuple[Int64Array, HalfArray, Fingerprints]]:
        """Yield all rows, some hundreds or thousands at a time; raises VectorsDamaged."""
        with translate_lance_errors(self._folder):
            for batch in self._table.search().select(["key", "vector"]).to_batches():
                # A copy, for a view of the keys would hold the whole batch in memory.
                keys = batch.column("key").to_numpy().copy()
                numbers = batch.column("vector").flatten().to_numpy(zero_copy_only=False)
                vectors = numbers.reshape(len(keys), self.dimensions)
                yield keys, vectors, compute_fingerprints(keys, vectors)

    def add(self, keys: Int64Array, vectors: AnyFloatArray) -> None:
        """Add rows in one commit, after their fingerprints."""
        numbers = np.ascontiguousarray(vectors, dtype=np.float16)
        self.fingerprints.add(compute_fingerprints(keys, numbers))
        with translate_lance_errors(self._folder):
            self._table.add(_build_rows(keys, numbers))

    def delete(self, keys: Int64Array) -> None:
        """Delete every row of these keys, in as many commits as it takes."""
        for start in range(0, len(keys), DELETE_BATCH_SIZE):
            self._delete_where_in("key", keys[start : start + DELETE_BATCH_SIZE])

    def delete_duplicates(self) -> None:
        """Delete all but the first row of each key."""
        with translate_lance_errors(self._folder):
            found = self._table.search().select(["key"]).with_row_id(True).to_arrow()  # noqa: FBT003
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
    os.environ.setdefault(*READ_AHEAD_VARIABLE)
    lancedb = import_lancedb()
    if not is_usable_tree(folder):  # LanceDB would block on a pipe
        raise VectorsDamaged(f"Something in {folder} is not a file that can be read.")
    with translate_lance_errors(folder):
        make_private_parents(folder)
        return lancedb.connect(str(folder))


def _build_rows(keys: Int64Array, vectors: AnyFloatArray) -> Any:
    """Return rows of the table in Arrow's format."""
    import pyarrow as pa  # noqa: PLC0415  # slow to import

    numbers = pa.array(vectors.astype(np.float16, copy=False).reshape(-1))
    dimensions = vectors.shape[1]
    fields = [
        pa.field("key", pa.int64(), nullable=False),
        pa.field("vector", pa.list_(pa.float16(), dimensions), nullable=False),
    ]
    columns = [pa.array(keys, pa.int64()), pa.FixedSizeListArray.from_arrays(numbers, dimensions)]
    return pa.table(columns, schema=pa.schema(fields, metadata=TABLE_METADATA))
