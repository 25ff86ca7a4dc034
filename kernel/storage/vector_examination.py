"""Looking at a vector table without changing it: which rows are not as they were written."""

import os
from pathlib import Path

from kernel.storage.index_shape import is_usable_tree
from kernel.storage.lance_failures import VectorsDamaged, explained
from kernel.storage.lance_rows import READ_AHEAD, TABLE, LanceRows
from kernel.storage.vector_fingerprints import FingerprintFile, fingerprints


def examine_vectors(folder: Path) -> str:
    """What is wrong with the table in ``folder``; nothing if all of it can be read and is right."""
    try:
        rows = LanceRows.open(folder, read_dimensions(folder))
        rows.versions()
        known = FingerprintFile(folder)
        can_compare = known.read()
        damaged = sum(
            int((~known.holds(fingerprints(keys, vectors))).sum()) if can_compare else 0
            for keys, vectors in rows.read()
        )
    except VectorsDamaged as damage:
        return str(damage)
    return f"{damaged} vectors in {folder} differ from their fingerprints." if damaged else ""


def read_dimensions(folder: Path) -> int:
    """How many numbers a row of the table has; raises VectorsDamaged."""
    os.environ.setdefault(*READ_AHEAD)
    import lancedb  # noqa: PLC0415 - takes two seconds of CPU

    if not folder.is_dir() or not is_usable_tree(folder):
        raise VectorsDamaged(f"Something in {folder} is not a file that can be read.")
    with explained(folder):
        schema = lancedb.connect(str(folder)).open_table(TABLE).schema
        dimensions: int = getattr(schema.field("vector").type, "list_size", 0)
    return dimensions
