"""Whether the vectors in a folder are as they were written; what is kept of those that are not."""

from pathlib import Path

from codekernel.storage.engines import VectorsDamaged
from codekernel.storage.vectors.lance_table import LanceTable, read_dimensions
from codekernel.storage.vectors.snapshot_files import remove_snapshot
from codekernel.storage.vectors.vector_table import VectorTable, quarantine_vectors


def examine_vectors(folder: Path) -> str:
    """Return what is wrong with the table in ``folder``; "" if all rows are intact."""
    try:
        rows = LanceTable.open(folder, read_dimensions(folder))
        rows.count_versions()
        known = rows.fingerprints
        known.read()
        damaged = sum(int((~known.contains(found)).sum()) for *_, found in rows.iterate_batches())
    except VectorsDamaged as damage:
        return str(damage)
    return f"{damaged} vectors in {folder} differ from their fingerprints." if damaged else ""


def repair_vectors(folder: Path) -> None:
    """Keep the rows that are intact; quarantine a table that cannot be read at all."""
    remove_snapshot(folder)
    try:
        VectorTable.open(folder, read_dimensions(folder)).close()
    except VectorsDamaged as reason:
        quarantine_vectors(folder, reason)
