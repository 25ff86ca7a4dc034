"""Examine an index from outside, as `codekernel doctor` does.

Find what is damaged and quarantine it.
"""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from codekernel.errors import StorageError
from codekernel.storage.catalog.call_database import CALLS_FILE, find_calls_damage
from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.catalog.rows import connect_catalog
from codekernel.storage.catalog.tables import check_catalog_readable, check_integrity
from codekernel.storage.engines import CatalogDamaged, translate_sqlite_errors
from codekernel.storage.index_store import (
    CATALOG_FILE,
    LEXICAL_FOLDER,
    find_misplaced_files,
    list_vectors_folders,
    quarantine_index,
    quarantine_misplaced_files,
)
from codekernel.storage.lexical_index import verify_lexical
from codekernel.storage.page_checksums import PageChecksums
from codekernel.storage.process_lock import ProcessLock
from codekernel.storage.quarantine import (
    QUARANTINE_MARK,
    quarantine_derived_database,
    quarantine_derived_file,
    read_quarantined_inodes,
)
from codekernel.storage.safe_files import add_suffix, is_usable_tree
from codekernel.storage.user_data import WRITER_LOCK_FILE

# What a running kernel is replacing is complete a moment later.
MAX_EXAMINATIONS = 3

EXAMINATION_INTERVAL_SECONDS = 0.2

CATALOG, LEXICAL, VECTORS, CALLS, LOCATION = "catalog", "words", "vectors", "calls", "place"


@dataclass(frozen=True, slots=True)
class IndexDamage:
    """A damaged part of an index, its path and the reason."""

    part: str
    path: Path
    reason: str


def has_index(folder: Path) -> bool:
    """Return whether an index, or what was one, lies in ``folder``."""
    return folder.exists() and (not folder.is_dir() or any(folder.iterdir()))


def count_index_contents(folder: Path) -> tuple[int, int, int]:
    """Count the files, chunks and skipped files of an index; raises StorageError."""
    with closing(Catalog(folder / CATALOG_FILE)) as catalog:
        return catalog.count_contents()


def find_index_damage(folder: Path) -> list[IndexDamage]:
    """Compare everything in an index with its checksums; change nothing."""
    if not folder.is_dir():
        return [IndexDamage(LOCATION, folder, f"{folder} is not a folder")]
    in_the_way = [
        IndexDamage(LOCATION, path, f"{path} is not a file that can be read")
        for path in find_misplaced_files(folder)
    ]
    if in_the_way:
        return in_the_way  # opening what is beside them could block
    for _ in range(MAX_EXAMINATIONS):
        found = [*_check_catalog_and_lexical(folder), *_check_vectors(folder)]
        if reason := find_calls_damage(folder / CALLS_FILE):
            found.append(IndexDamage(CALLS, folder / CALLS_FILE, reason))
        if not found:
            break
        time.sleep(EXAMINATION_INTERVAL_SECONDS)
    return found


def quarantine_index_damage(folder: Path, damages: list[IndexDamage]) -> list[Path] | None:
    """Quarantine what is damaged, so that it is rebuilt when the index is next opened.

    Returns the new paths; None if another process writes the index, which repairs it itself.
    """
    from codekernel.storage.vectors.vector_examination import repair_vectors  # noqa: PLC0415 - numpy

    if not folder.is_dir():
        moved = quarantine_derived_file(folder)
        return [moved] if moved else []
    before = read_quarantined_inodes(folder)
    lock_path = folder / WRITER_LOCK_FILE
    if any(damage.path == lock_path for damage in damages):
        quarantine_derived_file(lock_path)
    lock = ProcessLock(lock_path)
    if not lock.try_acquire():
        return None
    try:
        quarantine_misplaced_files(folder)
        parts = {damage.part for damage in damages}
        if parts & {CATALOG, LEXICAL}:
            quarantine_index(folder, include_catalog=CATALOG in parts)
        if CALLS in parts:
            quarantine_derived_database(folder / CALLS_FILE)
        for damage in damages:
            if damage.part == VECTORS:
                repair_vectors(damage.path)
    finally:
        lock.release()
    return [path for path, _ in sorted(read_quarantined_inodes(folder).items() - before.items())]


def _check_catalog_and_lexical(folder: Path) -> Iterator[IndexDamage]:
    path, words = folder / CATALOG_FILE, folder / LEXICAL_FOLDER
    has_words = words.is_dir() and any(words.iterdir())
    sums = PageChecksums(path)
    if not path.exists() and not sums.path.exists() and not has_words:
        return  # not made yet
    try:
        has_checksums = sums.verify()
        check_catalog_readable(path)
        if not has_checksums:
            with (
                translate_sqlite_errors(path),
                closing(connect_catalog(path, read_only=True)) as database,
            ):
                check_integrity(database, path)
    except CatalogDamaged as damage:
        yield IndexDamage(CATALOG, path, str(damage))
        return
    if not words.exists() and add_suffix(words, QUARANTINE_MARK).exists():
        return  # quarantined; rebuilt from the catalog when the index is next opened
    if not is_usable_tree(words, flat=True):
        yield IndexDamage(LEXICAL, words, f"Something in {words} is not a file that can be read.")
        return
    try:
        verify_lexical(words)
    except StorageError as damage:
        yield IndexDamage(LEXICAL, words, str(damage))


def _check_vectors(folder: Path) -> Iterator[IndexDamage]:
    from codekernel.storage.vectors.vector_examination import examine_vectors  # noqa: PLC0415 - numpy

    for table in list_vectors_folders(folder):
        if reason := examine_vectors(table):
            yield IndexDamage(VECTORS, table, reason)
