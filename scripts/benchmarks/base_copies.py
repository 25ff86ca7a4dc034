"""Fill the table of a base with copies of its rows, under other names and with other vectors."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from codekernel.base.base_building import BuildProgress
from codekernel.base.base_place import BasePlace
from codekernel.base.base_reader import OpenedBase
from codekernel.base.manifest import name_manifest
from codekernel.storage.base.base_rows import decode_batches, make_schema
from codekernel.storage.base.base_table import BaseTableWriter

NOISE = 0.05


def fill_with_copies(
    place: BasePlace, base: OpenedBase, rows: int, report: Callable[[BuildProgress], None]
) -> int:
    """Replace the table by one of so many rows, index and publish it as a build does."""
    manifest, store = base.manifest, place.store
    parts = [part for repository in manifest.repositories for part in repository.parts]
    writer = BaseTableWriter(place.table)
    report(BuildProgress("one commit"))
    writer.fill(make_schema(manifest.dimensions), copy_rows(place, parts, rows))
    for column in writer.list_index_columns():
        report(BuildProgress(f"index of {column}"))
        writer.build_index(column)
    writer.require_complete_indexes()
    written = name_manifest(place.folder, writer.version)
    store.write(written, store.read(name_manifest(place.folder, base.table.version)))
    writer.publish()
    return writer.count_rows()


def copy_rows(place: BasePlace, parts: Sequence[str], rows: int) -> Iterator[Any]:
    """Yield all rows, then copies of them, until there are so many."""
    noise = np.random.default_rng(1)
    left, number = rows, 0
    while left > 0:
        for part in parts:
            for batch in decode_batches(place.store.read(part)):
                if some := batch.slice(0, min(left, batch.num_rows)):
                    left -= some.num_rows
                    yield change_batch(some, f"-{number}", noise) if number else some
        number += 1


def change_batch(batch: Any, suffix: str, noise: np.random.Generator) -> Any:
    """Return rows of another repository, near the given ones."""
    size = batch.schema.field("vector").type.list_size
    vectors = batch.column("vector").flatten().to_numpy(zero_copy_only=False).reshape(-1, size)
    moved = vectors.astype(np.float32) + noise.normal(scale=NOISE, size=vectors.shape)
    moved /= np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-6)
    rows = pa.FixedSizeListArray.from_arrays(pa.array(moved.astype(np.float16).ravel()), size)
    names = pa.array([f"{name}{suffix}" for name in batch.column("repo").to_pylist()])
    columns = {name: batch.column(name) for name in batch.schema.names}
    columns |= {"repo": names, "vector": rows}
    return pa.record_batch(list(columns.values()), schema=batch.schema)
