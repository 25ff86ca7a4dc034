"""The rows of a vector table on disk: one LanceDB table of keys and vectors in a folder.

An add is one commit, there or not. LanceDB knows no unique key: a key may be there twice after a
commit that succeeded but was reported as failed; ``delete_repeats`` mends that.
"""

import logging
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kernel.storage.failures import explain
from kernel.storage.index_shape import is_usable_tree
from kernel.storage.lance_failures import VectorsDamaged, explained
from kernel.storage.private_folder import make_folders
from kernel.storage.quarantine import MARK, delete_any
from kernel.storage.vector_codes import AnyFloats, Int64Array

_logger = logging.getLogger(__name__)

Halves: TypeAlias = npt.NDArray[np.float16]

TABLE = "rows"
FORMAT = {b"codekernel": b"vectors-1"}
# A predicate of so many keys deletes in 0.15 s of CPU from 400,000 rows; longer ones gain nothing.
KEYS_PER_DELETE = 20_000
# Zero would do, but LanceDB warns of readers in other processes, which there are not.
OLD = timedelta(milliseconds=1)
ASIDE = f"{MARK}-"
# What LanceDB may have read ahead of itself. With its own 2 GB it reads a whole file at once: a
# compaction of 660,000 rows then took 361 MB at its peak, and with 16 MB 132, at the same CPU.
READ_AHEAD = ("LANCE_DEFAULT_IO_BUFFER_SIZE", str(16 * 1024 * 1024))


class LanceRows:
    """An open table; one thread at a time."""

    def __init__(self, folder: Path, table: Any, dimensions: int) -> None:
        self._folder = folder
        self._table = table
        self._dimensions = dimensions

    @classmethod
    def open(cls, folder: Path, dimensions: int) -> "LanceRows":
        """Open the table, or make it; raises VectorsDamaged if what is there is of no use."""
        os.environ.setdefault(*READ_AHEAD)
        import lancedb  # noqa: PLC0415  # takes two seconds of CPU

        if not is_usable_tree(folder):  # LanceDB would wait for ever for what a pipe has to say
            raise VectorsDamaged(f"Something in {folder} is not a file that can be read.")
        with explained(folder):
            make_folders(folder)
            database = lancedb.connect(str(folder))
            schema = _schema(dimensions)
            if not any(folder.iterdir()):
                return cls(folder, database.create_table(TABLE, schema=schema), dimensions)
            table = database.open_table(TABLE)
            ours = table.schema.equals(schema, check_metadata=True)
        if not ours:
            raise VectorsDamaged(
                f"The table in {folder} is not one of {dimensions} numbers a row in this format."
            )
        return cls(folder, table, dimensions)

    def __len__(self) -> int:
        with explained(self._folder):
            count: int = self._table.count_rows()
        return count

    def read(self) -> Iterator[tuple[Int64Array, Halves]]:
        """Every row, some hundreds or thousands at a time; raises VectorsDamaged."""
        with explained(self._folder):
            for batch in self._table.search().select(["key", "vector"]).to_batches():
                # A copy, for a view of the keys would hold the whole batch in memory.
                keys = batch.column("key").to_numpy().copy()
                numbers = batch.column("vector").flatten().to_numpy(zero_copy_only=False)
                yield keys, numbers.reshape(len(keys), self._dimensions)

    def add(self, keys: Int64Array, vectors: AnyFloats) -> None:
        """Add rows in one commit."""
        import pyarrow as pa  # noqa: PLC0415  # slow to import

        numbers = np.ascontiguousarray(vectors, dtype=np.float16).reshape(-1)
        columns = [
            pa.array(keys, pa.int64()),
            pa.FixedSizeListArray.from_arrays(pa.array(numbers), self._dimensions),
        ]
        with explained(self._folder):
            self._table.add(pa.table(columns, schema=_schema(self._dimensions)))

    def delete(self, keys: Int64Array) -> None:
        """Delete every row of these keys, in as many commits as it takes."""
        for start in range(0, len(keys), KEYS_PER_DELETE):
            self._delete("key", keys[start : start + KEYS_PER_DELETE])

    def delete_repeats(self) -> None:
        """Delete all but the first row of each key."""
        with explained(self._folder):
            found = self._table.search().select(["key"]).with_row_id(True).to_arrow()  # noqa: FBT003
        keys, rows = found["key"].to_numpy(), found["_rowid"].to_numpy()
        _, first = np.unique(keys, return_index=True)
        repeats = np.delete(rows, first)
        # Only a commit for all of them leaves the remaining row numbers as they are.
        if len(repeats):
            self._delete("_rowid", repeats)

    def compact(self) -> None:
        """Merge small files into large ones, and remove what only older versions need."""
        with explained(self._folder):
            # Unverified files are those of adds that a crash cut short: nobody else writes here.
            self._table.optimize(cleanup_older_than=OLD, delete_unverified=True)

    def versions(self) -> int:
        """How many versions there are on disk."""
        with explained(self._folder):
            return len(self._table.list_versions())

    def fragments(self) -> int:
        """In how many pieces the rows lie on disk."""
        with explained(self._folder):
            count: int = self._table.stats()["fragment_stats"]["num_fragments"]
        return count

    def _delete(self, column: str, values: "np.ndarray[Any, Any]") -> None:
        with explained(self._folder):
            self._table.delete(f"{column} IN ({','.join(map(str, values.tolist()))})")


def set_aside(folder: Path, reason: Exception, now: datetime) -> Path:
    """Rename a table that cannot be used; of such tables only the newest is kept."""
    aside = folder.with_name(f"{folder.name}{ASIDE}{now.astimezone(UTC):%Y%m%d-%H%M%S}")
    try:
        for older in folder.parent.glob(f"{folder.name}{ASIDE}*"):
            delete_any(older)
        folder.rename(aside)
    except OSError as error:
        raise explain(error, folder) from error
    _logger.warning(
        "The vectors in %s cannot be used (%s). They were moved to %s and are made again.",
        folder,
        reason,
        aside.name,
    )
    return aside


def _schema(dimensions: int) -> Any:
    import pyarrow as pa  # noqa: PLC0415  # slow to import

    fields = [
        pa.field("key", pa.int64(), nullable=False),
        pa.field("vector", pa.list_(pa.float16(), dimensions), nullable=False),
    ]
    return pa.schema(fields, metadata=FORMAT)
